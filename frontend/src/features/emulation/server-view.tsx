/** A server in the inspector: what it receives and relays, whom it sees, how its flows go. */
import { useMemo } from "react";
import { Section } from "@/ui/form";
import { formatCount, formatPercent, plural } from "@/units";
import styles from "./emulation.module.css";
import type { Tick } from "./frames";
import { Facts, type InspectorProps, pathText, rateText } from "./inspector-parts";
import { neighboursOf } from "./neighbours";
import { hostOf, nodeName } from "./network";
import { secsText } from "./series";
import { ServerAccount } from "./server-account";
import { routeAt } from "./session";
import side from "./side.module.css";

export function ServerView(props: InspectorProps & { row: number }) {
  const { network, tick, row, liveRun } = props;
  const retransmits = (tick?.retransmits ?? [])
    .filter(([flow]) => network.flowSource[flow] === row)
    .reduce((sum, [, count]) => sum + count, 0);
  const host = hostOf(network, row);
  return (
    <>
      <Facts
        rows={[
          ...(host === null ? [] : [["Host", host] satisfies [string, string]]),
          ["Receives", rateText(tick?.received[row], tick)],
          ["Relays", rateText(tick?.relayed[row], tick)],
          ["CPU", tick ? `${formatPercent(tick.serverCpu[row])} of a core` : "–"],
          ["Retransmits now", formatCount(retransmits)],
          ["Drops now, whole network", dropsText(tick)],
        ]}
      />
      {liveRun ? (
        <ServerAccount run={liveRun} network={network} row={row} onSelect={props.onSelect} />
      ) : (
        <ServerRecord {...props} />
      )}
    </>
  );
}

/** What was recorded of a server: for the past, where it can no longer be asked. */
function ServerRecord({ session, network, tick, at, row, onSelect }: InspectorProps & { row: number }) {
  const neighbours = useMemo(() => neighboursOf(session, network, row, at), [session, network, row, at]);
  const flows = useMemo(() => {
    const own: number[] = [];
    for (let flow = 0; flow < network.flows; flow++) if (network.flowSource[flow] === row) own.push(flow);
    return own;
  }, [network, row]);
  return (
    <>
      <Section title="Neighbours, as this server sees them">
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Server</th>
              <th scope="col">By</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {neighbours.map(({ server, by, alive, since, cause }) => (
              <tr key={`${by} ${server}`}>
                <td>
                  <button
                    type="button"
                    className={side.link}
                    onClick={() => onSelect({ kind: "server", row: server })}
                  >
                    {nodeName(network, server)}
                  </button>
                </td>
                <td>{nodeName(network, by)}</td>
                <td data-tone={alive ? "good" : "bad"}>
                  {alive ? "alive" : `dead${cause ? ` (${cause})` : ""}`}
                  {since !== null && <span className={styles.muted}> since {secsText(since)}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      <Section title={`Paths of its ${plural(flows.length, "flow")}`}>
        <div className={side.scrollTable}>
          <table className={styles.table}>
            <thead>
              <tr>
                <th scope="col">To</th>
                <th scope="col">Way</th>
                <th scope="col" className={styles.number}>
                  Now
                </th>
              </tr>
            </thead>
            <tbody>
              {flows.slice(0, 200).map((flow) => (
                <tr key={flow}>
                  <td>
                    <button
                      type="button"
                      className={side.link}
                      onClick={() => onSelect({ kind: "flow", row: flow })}
                    >
                      {nodeName(network, network.flowDestination[flow]!)}
                    </button>
                  </td>
                  <td>{pathText(network, routeAt(session, flow, at)?.path)}</td>
                  <td className={styles.number}>{rateText(tick?.flows?.[flow], tick)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Section>
    </>
  );
}

function dropsText(tick: Tick | null): string {
  const reasons = Object.entries(tick?.drops ?? {});
  return reasons.length === 0
    ? "none"
    : reasons.map(([reason, count]) => `${reason.replaceAll("_", " ")} ${formatCount(count)}`).join(", ");
}

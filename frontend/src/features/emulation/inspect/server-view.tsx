/** A server in the inspector: its received and relayed traffic, its neighbours, and its flows. */
import { useParams } from "@tanstack/react-router";
import { Fragment, lazy, Suspense, useMemo } from "react";
import { ColumnHeads } from "@/ui/column-heads";
import { Section } from "@/ui/form";
import { formatCount, formatPercent, plural } from "@/units";
import shared from "../common.module.css";
import type { Tick } from "../session/frames";
import { hostNameOf, hostOf, nodeName } from "../session/network";
import { secsText } from "../session/series";
import { routeAt } from "../session/session";
import { Captures } from "./captures";
import captures from "./captures.module.css";
import common from "./common.module.css";
import { Facts, type InspectorProps, pathText, rateText } from "./inspector-parts";
import { neighboursOf } from "./neighbours";
import { ServerAccount } from "./server-account";
import styles from "./server-view.module.css";
import { hasTalk } from "./service-talk";

const Services = lazy(() => import("./services"));
const ServerTerminal = lazy(() => import("./terminal"));

export function ServerView(props: InspectorProps & { row: number }) {
  const { network, tick, row, liveRun } = props;
  const retransmits = (tick?.rows.retransmits ?? [])
    .filter(([flow]) => network.flowSource[flow] === row)
    .reduce((sum, [, count]) => sum + count, 0);
  const host = hostOf(network, row);
  const hostName = hostNameOf(network, row);
  return (
    <>
      <Facts
        rows={[
          ...(hostName === null ? [] : [["Host name", hostName] satisfies [string, string]]),
          ...(host === null ? [] : [["Runs on", host] satisfies [string, string]]),
          ["Receives", rateText(tick?.received[row], tick)],
          ["Relays", rateText(tick?.relayed[row], tick)],
          ["CPU", tick ? `${formatPercent(tick.serverCpu[row])} of a core` : "–"],
          ["Retransmits", formatCount(retransmits)],
          ["Drops in the whole network", dropsText(tick)],
        ]}
      />
      <Section title="Packet captures by port">
        <div className={captures.ports}>
          {network.linksOf[row]!.map((link) => {
            const port = (network.a[link] === row ? network.frame.links.a_port : network.frame.links.b_port)[
              link
            ]!;
            return (
              <Fragment key={port}>
                <span>p{port}</span>
                <div>
                  <Captures
                    target={{ server: nodeName(network, row), port }}
                    name={`${nodeName(network, row)} p${port}`}
                    live={liveRun !== null}
                  />
                </div>
              </Fragment>
            );
          })}
        </div>
      </Section>
      {liveRun && (
        // Shown in addition to the server's own report: it stays while a frozen server does not
        // answer.
        <Suspense>
          <ServerTerminal key={row} run={liveRun} name={nodeName(network, row)} />
        </Suspense>
      )}
      {liveRun ? <ServerAccount {...props} run={liveRun} /> : <ServerRecord {...props} />}
    </>
  );
}

/** The recorded data of a server: for the past, when it can no longer be queried. */
function ServerRecord({ session, network, tick, at, row, onSelect }: InspectorProps & { row: number }) {
  const { id } = useParams({ strict: false });
  const talked = useMemo(() => hasTalk(session.events), [session.events]);
  const neighbours = useMemo(() => neighboursOf(session, network, row, at), [session, network, row, at]);
  const flows = useMemo(() => {
    const own: number[] = [];
    for (let flow = 0; flow < network.flows; flow++) if (network.flowSource[flow] === row) own.push(flow);
    return own;
  }, [network, row]);
  return (
    <>
      {id !== undefined && talked && (
        <Suspense>
          <Services run={id} {...{ session, network, row, at, onSelect }} counters={null} />
        </Suspense>
      )}
      <Section title="Neighbours (as this server sees them)">
        <table className={shared.table}>
          <ColumnHeads columns={["Server", "By", "State"]} />
          <tbody>
            {neighbours.map(({ server, by, link, alive, since, cause }) => (
              <tr key={`${link} ${server}`}>
                <td>
                  <button
                    type="button"
                    className={common.link}
                    onClick={() => onSelect({ kind: "server", row: server })}
                  >
                    {nodeName(network, server)}
                  </button>
                </td>
                <td>
                  {by === null ? (
                    <button
                      type="button"
                      className={common.link}
                      onClick={() => onSelect({ kind: "link", row: link })}
                    >
                      direct cable
                    </button>
                  ) : (
                    nodeName(network, by)
                  )}
                </td>
                <td data-tone={alive ? "good" : "bad"}>
                  {alive ? "alive" : `dead${cause ? ` (${cause})` : ""}`}
                  {since !== null && <span className="muted plain"> since {secsText(since)}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      <Section title={`Paths of ${plural(flows.length, "flow")}`}>
        <div className={styles.scrollTable}>
          <table className={shared.table}>
            <ColumnHeads columns={["To", "Path", { title: "Goodput", className: shared.number }]} />
            <tbody>
              {flows.slice(0, 200).map((flow) => (
                <tr key={flow}>
                  <td>
                    <button
                      type="button"
                      className={common.link}
                      onClick={() => onSelect({ kind: "flow", row: flow })}
                    >
                      {nodeName(network, network.flowDestination[flow]!)}
                    </button>
                  </td>
                  <td>{pathText(network, routeAt(session, flow, at)?.path)}</td>
                  <td className={shared.number}>{rateText(tick?.flows?.[flow], tick)}</td>
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
    : reasons.map(([reason, count]) => `${reason.replaceAll(/[-_]/g, " ")} ${formatCount(count)}`).join(", ");
}

/** A flow in the inspector: how fast it goes, and every way it took. */
import { Section } from "@/ui/form";
import { formatBitsPerSec, formatCount } from "@/units";
import { itemOfNode, nodeName } from "../session/network";
import { secsText } from "../session/series";
import { routeAt } from "../session/session";
import { subflowRates, subflowsAt } from "../session/subflows";
import common from "./common.module.css";
import styles from "./flow-view.module.css";
import { Facts, type InspectorProps, pathText, rateText } from "./inspector-parts";

const DOWN: Record<string, string> = { closed: "closed", "no-path": "no path left" };

/** The subflows of an MPTCP connection; empty for other flows. */
function Subflows({
  session,
  network,
  at,
  row,
}: Pick<InspectorProps, "session" | "network" | "at"> & { row: number }) {
  const subflows = subflowsAt(network, session.events, row, at);
  if (subflows.length === 0) return null;
  const rates = subflowRates(session.history, row, at);
  return (
    <Section title={`Subflows (${subflows.filter(({ down }) => down === null).length} up)`}>
      <p>MPTCP, uncoupled: the kernel has no LIA.</p>
      <ol className={styles.routes} data-testid="subflows">
        {subflows.map(({ number, ports: [from, to], path, down }) => (
          <li key={number} data-now={down === null || undefined}>
            <span className={styles.entryTime}>{number}</span>
            <span>
              {from != null || to != null ? `port ${from ?? "any"} to port ${to ?? "any"}: ` : ""}
              {down === null
                ? `${formatBitsPerSec(rates.get(number) ?? 0)}, ${path.map((node) => nodeName(network, node)).join(" · ")}`
                : (DOWN[down] ?? down)}
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

export function FlowView({ session, network, tick, at, row, onSelect }: InspectorProps & { row: number }) {
  const routes = session.routes.get(row) ?? [];
  const now = routeAt(session, row, at);
  const predicted = network.frame.flows.path?.[row];
  const retransmits = tick?.rows.retransmits?.find(([flow]) => flow === row)?.[1] ?? 0;
  return (
    <>
      <Facts
        rows={[
          ["Goodput", rateText(tick?.flows?.[row], tick)],
          [
            "Ideal",
            formatBitsPerSec(network.frame.flows.ideal_bits_per_sec[row]! * network.frame.header_efficiency),
          ],
          ["Retransmits", formatCount(retransmits)],
          ["Path", pathText(network, now?.path)],
          ...(predicted ? [["Predicted path", pathText(network, predicted)] as [string, string]] : []),
        ]}
      />
      <Subflows session={session} network={network} at={at} row={row} />
      <Section title={`Path history (${routes.length})`}>
        <ol className={styles.routes} data-testid="routes">
          {[...routes].reverse().map((route) => (
            <li key={`${route.at} ${route.path.join("-")}`} data-now={route === now || undefined}>
              <span className={styles.entryTime}>{secsText(route.at)}</span>
              <span>
                {route.path.map((node, hop) => (
                  <span key={node}>
                    {hop > 0 && " → "}
                    <button
                      type="button"
                      className={common.link}
                      onClick={() => onSelect(itemOfNode(network, node))}
                    >
                      {nodeName(network, node)}
                    </button>
                  </span>
                ))}
              </span>
            </li>
          ))}
        </ol>
      </Section>
    </>
  );
}

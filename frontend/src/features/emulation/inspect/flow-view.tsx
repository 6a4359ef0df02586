/** A flow in the inspector: how fast it goes, and every way it took. */
import { Section } from "@/ui/form";
import { formatBitsPerSec, formatCount } from "@/units";
import { itemOfNode, nodeName } from "../session/network";
import { secsText } from "../session/series";
import { routeAt } from "../session/session";
import common from "./common.module.css";
import styles from "./flow-view.module.css";
import { Facts, type InspectorProps, pathText, rateText } from "./inspector-parts";

export function FlowView({ session, network, tick, at, row, onSelect }: InspectorProps & { row: number }) {
  const routes = session.routes.get(row) ?? [];
  const now = routeAt(session, row, at);
  const predicted = network.frame.flows.path?.[row];
  const retransmits = tick?.retransmits.find(([flow]) => flow === row)?.[1] ?? 0;
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

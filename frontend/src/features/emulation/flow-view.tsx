/** A flow in the inspector: how fast it goes, and every way it took. */
import { Section } from "@/ui/form";
import { formatBitsPerSec, formatCount } from "@/units";
import { Facts, type InspectorProps, pathText, rateText } from "./inspector-parts";
import { nodeName } from "./network";
import { secsText } from "./series";
import { routeAt } from "./session";
import side from "./side.module.css";

export function FlowView({ session, network, tick, at, row, onSelect }: InspectorProps & { row: number }) {
  const routes = session.routes.get(row) ?? [];
  const now = routeAt(session, row, at);
  const retransmits = tick?.retransmits.find(([flow]) => flow === row)?.[1] ?? 0;
  return (
    <>
      <Facts
        rows={[
          ["Goodput", rateText(tick?.flows?.[row], tick)],
          ["Ideal", formatBitsPerSec(network.frame.flows.ideal_bits_per_sec[row])],
          ["Retransmits now", formatCount(retransmits)],
          ["Goes", pathText(network, now?.path)],
        ]}
      />
      <Section title={`Ways it took (${routes.length})`}>
        <ol className={side.routes} data-testid="routes">
          {[...routes].reverse().map((route) => (
            <li key={`${route.at} ${route.path.join("-")}`} data-now={route === now || undefined}>
              <span className={side.entryTime}>{secsText(route.at)}</span>
              <span>
                {route.path.map((server, hop) => (
                  <span key={server}>
                    {hop > 0 && " → "}
                    <button
                      type="button"
                      className={side.link}
                      onClick={() => onSelect({ kind: "server", row: server })}
                    >
                      {nodeName(network, server)}
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

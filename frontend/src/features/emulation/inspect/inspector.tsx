/**
 * The selected item at the shown time: a server's neighbours and flows, a link's rates, a flow's
 * paths.
 */
import { faultKind } from "@/shared/faults/fault-kinds";
import { IconButton } from "@/ui/button";
import { plural } from "@/units";
import { FidelityMark } from "../report/fidelity-mark";
import { type Item, itemName, type Network } from "../session/network";
import { FlowView } from "./flow-view";
import styles from "./inspector.module.css";
import type { InspectorProps } from "./inspector-parts";
import { LinkView, SwitchView } from "./link-view";
import { ServerView } from "./server-view";

export function Inspector(props: InspectorProps) {
  const { network, item, session, broken, onSelect } = props;
  if (!item)
    return (
      <div className={styles.hint}>
        <p>Select a server, a switch or a link in the picture, or a flow in the event log, to inspect it.</p>
        <FlowPicker network={network} onSelect={onSelect} />
      </div>
    );
  return (
    <div className={styles.inspector} data-testid="inspector">
      <div className={styles.itemHead}>
        <h2>
          <span className="muted plain">{item.kind}</span> {itemName(network, item)}
        </h2>
        {broken && <span className={styles.brokenMark}>{faultKind(broken).title.toLowerCase()}</span>}
        <span className={styles.space} />
        <FidelityMark fidelity={session.report?.fidelity ?? null} />
        <IconButton small icon="close" label="Clear the selection" onClick={() => onSelect(null)} />
      </div>
      {item.kind === "server" && <ServerView {...props} row={item.row} />}
      {item.kind === "switch" && <SwitchView {...props} row={item.row} />}
      {item.kind === "link" && <LinkView {...props} row={item.row} />}
      {item.kind === "flow" && <FlowView {...props} row={item.row} />}
    </div>
  );
}

function FlowPicker({ network, onSelect }: { network: Network; onSelect: (item: Item) => void }) {
  const shown = Math.min(network.flows, 400);
  return (
    <label className={styles.pick}>
      Follow a flow
      <select
        className={styles.select}
        value=""
        onChange={(event) =>
          event.target.value !== "" && onSelect({ kind: "flow", row: Number(event.target.value) })
        }
      >
        <option value="">{plural(network.flows, "flow")}…</option>
        {Array.from({ length: shown }, (_, row) => (
          <option key={row} value={row}>
            {itemName(network, { kind: "flow", row })}
          </option>
        ))}
      </select>
    </label>
  );
}

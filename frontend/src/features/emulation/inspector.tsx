/** The selected thing as it is at the shown time: a server's neighbours and flows, a link's rates, a flow's ways. */
import { IconButton } from "@/ui/button";
import { plural } from "@/units";
import { faultKind } from "../shared/fault-kinds";
import styles from "./emulation.module.css";
import { FidelityMark } from "./fidelity-mark";
import { FlowView } from "./flow-view";
import type { InspectorProps } from "./inspector-parts";
import { LinkView, SwitchView } from "./link-view";
import { type Item, itemName, type Network } from "./network";
import { ServerView } from "./server-view";
import side from "./side.module.css";

export function Inspector(props: InspectorProps) {
  const { network, item, session, broken, onSelect } = props;
  if (!item)
    return (
      <div className={side.hint}>
        <p>Choose a server, a switch or a link in the picture, or a flow from the log, to look into it.</p>
        <FlowPicker network={network} onSelect={onSelect} />
      </div>
    );
  return (
    <div className={side.inspector} data-testid="inspector">
      <div className={side.itemHead}>
        <h2>
          <span className={styles.muted}>{item.kind}</span> {itemName(network, item)}
        </h2>
        {broken && <span className={side.brokenMark}>{faultKind(broken).title.toLowerCase()}</span>}
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
    <label className={side.pick}>
      Follow a flow
      <select
        className={side.select}
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

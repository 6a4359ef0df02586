/** Beside the picture: the selected thing, what is broken and may be, and the log. */
import { useId } from "react";
import { Icon } from "@/ui/icon";
import { Tabs } from "@/ui/tabs";
import { BreakPanel } from "./break-panel";
import styles from "./emulation.module.css";
import { EventLog } from "./event-log";
import { FaultsList } from "./faults-list";
import type { Tick } from "./frames";
import { Inspector } from "./inspector";
import { type Broken, breakOf, type Item, type Network } from "./network";
import type { Session } from "./session";
import panel from "./side.module.css";
import type { Injecting } from "./use-injecting";

const SIDES = [
  { id: "inspect", label: "Inspect" },
  { id: "break", label: "Break" },
  { id: "events", label: "Events" },
] as const;
export type Side = (typeof SIDES)[number]["id"];

export function SidePanel({
  runId,
  session,
  network,
  tick,
  at,
  side,
  onSide,
  selection,
  onSelect,
  broken,
  injecting,
  flowing,
  over,
}: {
  runId: string;
  session: Session;
  network: Network;
  tick: Tick | null;
  /** Nothing later than this is shown. */
  at: number;
  side: Side;
  onSide: (side: Side) => void;
  selection: Item | null;
  onSelect: (item: Item | null) => void;
  broken: Broken;
  injecting: Injecting;
  flowing: boolean;
  over: boolean;
}) {
  const id = useId();
  const struck = broken.nodes.size + broken.links.size + broken.degraded.size;
  return (
    <aside className={styles.side} aria-label="Details">
      <Tabs
        label="Details"
        panelId={`${id}`}
        value={side}
        onChange={onSide}
        items={SIDES.map(({ id: one, label }) => ({
          id: one,
          label,
          ...(one === "break" && struck > 0 && { detail: struck }),
          ...(one === "events" && session.events.length > 0 && { detail: session.events.length }),
        }))}
      />
      <div
        id={`${id}`}
        role="tabpanel"
        aria-label={SIDES.find((one) => one.id === side)!.label}
        className={styles.sideBody}
      >
        {side === "inspect" && (
          <Inspector
            liveRun={flowing ? runId : null}
            session={session}
            network={network}
            item={selection}
            tick={tick}
            at={at}
            broken={selection && breakOf(network, broken, selection)}
            onSelect={onSelect}
          />
        )}
        {side === "break" && (
          <>
            {!over && (
              <div className={panel.breakHead}>
                <Icon name={injecting.on ? "warning" : "info"} size={14} />
                {injecting.on
                  ? "Inject mode: a click in the picture chooses what to break. Nothing breaks before you confirm."
                  : "Switch inject mode on to break something. Scheduled faults strike by themselves."}
              </div>
            )}
            {injecting.on && (
              <BreakPanel
                runId={runId}
                network={network}
                draft={injecting.draft}
                onDraft={injecting.setDraft}
                enabled={flowing}
                onTargets={injecting.setTargets}
              />
            )}
            <FaultsList session={session} runId={runId} over={over} />
          </>
        )}
        {side === "events" && (
          <EventLog
            session={session}
            until={at}
            onSelect={(item) => {
              onSelect(item);
              onSide("inspect");
            }}
            fileName={`run-${runId}-events.csv`}
          />
        )}
      </div>
    </aside>
  );
}

/** Next to the picture: the selected item, faults and the form to inject one, and the log. */
import { lazy, Suspense, useId } from "react";
import { Icon } from "@/ui/icon";
import { Tabs } from "@/ui/tabs";
import { EventLog } from "./events/event-log";
import { BreakPanel } from "./faults/break-panel";
import { FaultsList } from "./faults/faults-list";
import { UpgradePanel } from "./faults/upgrade-panel";
import type { Injecting } from "./faults/use-injecting";
import { Inspector } from "./inspect/inspector";
import type { Tick } from "./session/frames";
import { type Broken, breakOf, type Item, type Network } from "./session/network";
import type { Session } from "./session/session";
import styles from "./side-panel.module.css";

const MomentNotes = lazy(() => import("./notes/moment-notes"));

const SIDES = [
  { id: "inspect", label: "Inspect" },
  { id: "break", label: "Faults" },
  { id: "events", label: "Events" },
  { id: "notes", label: "Notes" },
] as const;
export type Side = (typeof SIDES)[number]["id"];

export function SidePanel({
  runId,
  session,
  network,
  tick,
  at,
  onMoment,
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
  /** Shows that second of the run. */
  onMoment: (at: number) => void;
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
        items={SIDES.map(({ id: side, label }) => ({
          id: side,
          label,
          ...(side === "break" && struck > 0 && { detail: struck }),
          ...(side === "events" && session.events.length > 0 && { detail: session.events.length }),
        }))}
      />
      <div
        id={`${id}`}
        role="tabpanel"
        aria-label={SIDES.find((item) => item.id === side)!.label}
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
          <Breaking
            runId={runId}
            session={session}
            network={network}
            injecting={injecting}
            flowing={flowing}
            over={over}
            at={at}
          />
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
        {side === "notes" && (
          <Suspense>
            <MomentNotes runId={runId} moment={momentOf(tick, at)} onMoment={onMoment} />
          </Suspense>
        )}
      </div>
    </aside>
  );
}

/** The second that the clock shows; null before the first measurement. */
const momentOf = (tick: Tick | null, at: number): number | null =>
  tick && (Number.isFinite(at) ? at : tick.at);

/** Injecting faults, and the faults of the run. */
function Breaking({
  runId,
  session,
  network,
  injecting,
  flowing,
  over,
  at,
}: {
  runId: string;
  session: Session;
  network: Network;
  injecting: Injecting;
  flowing: boolean;
  over: boolean;
  at: number;
}) {
  return (
    <>
      <UpgradePanel runId={runId} session={session} network={network} at={at} flowing={flowing} />
      {!over && (
        <div className={styles.breakHead}>
          <Icon name={injecting.on ? "warning" : "info"} size={14} />
          {injecting.on
            ? "Inject mode: click in the picture to choose a target. The fault starts when you confirm it."
            : "Turn on “Inject faults” to inject a fault. Scheduled faults start by themselves."}
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
  );
}

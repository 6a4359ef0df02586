import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Mark } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import { ProblemView } from "@/shared/server/problem";
import { type Command, useCommands } from "@/shared/shell/commands";
import { Button, IconButton } from "@/ui/button";
import { Empty, Skeleton } from "@/ui/marks";
import { cableName, formatCount, parseCableName } from "@/units";
import { CableCard } from "./cable-card";
import styles from "./crew.module.css";
import { pullList } from "./order";
import { Bar, type Counts, countsText, WaitingNote } from "./parts";
import { ProblemForm } from "./problem-form";
import { nextOpen } from "./steps";
import type { Ticks } from "./use-ticks";
import { useMarks } from "./use-work";
import type { Tick } from "./waiting";

interface Props {
  plan: string;
  revision: number;
  model: PlanModel;
  rack: string;
  /** The cable in the URL; without it the first open one is shown. */
  cable: string | undefined;
  ticks: Ticks;
}

/** One rack's cables, one at a time, in the order in which they are pulled. */
export function RackWork(props: Props) {
  const index = props.model.racks.names.indexOf(props.rack);
  const list = useMemo(() => (index < 0 ? [] : pullList(props.model, index)), [props.model, index]);
  if (index < 0) return <Empty title={`This revision has no rack ${props.rack}`} />;
  if (list.length === 0) return <Empty title={`No cables end in rack ${props.rack}`} />;
  return <CableByCable {...props} index={index} list={list} />;
}

function CableByCable({ index, list, ...props }: Props & { index: number; list: number[] }) {
  const { plan, revision, model, rack, ticks } = props;
  const work = useRackWork(props, list);
  const { at, tickOf } = work;
  const [noting, setNoting] = useState<number | null>(null);
  const cable = list[at]!;
  const now = tickOf(cable);
  const note = () => setNoting(cable);
  useCrewCommands(work, note);
  return (
    <div className={styles.work}>
      <div className={styles.scroll}>
        <WaitingNote ticks={ticks} />
        <RackTotal work={work} rack={rack} />
        <div className={styles.cableHead}>
          <h2>
            {cableName(cable)}{" "}
            <span className="muted plain">
              {formatCount(at + 1)} of {formatCount(list.length)}
            </span>
          </h2>
          {(work.marks.data || ticks.waiting.has(cable)) && (
            <StateMark tick={now} waiting={ticks.waiting.has(cable)} />
          )}
        </div>
        {now.note && <p className={styles.note}>{now.note}</p>}
        <CableCard model={model} cable={cable} rack={index} />
      </div>
      {noting === cable ? (
        <ProblemForm
          key={`${plan} ${revision} ${cable}`}
          note={now.note}
          onSave={(text) => {
            setNoting(null);
            work.finish({ state: "exception", note: text });
          }}
          onCancel={() => setNoting(null)}
        />
      ) : (
        <Tools work={work} now={now} onNote={note} />
      )}
    </div>
  );
}

function Tools({ work, now, onNote }: { work: Work; now: Tick; onNote: () => void }) {
  return (
    <div className={styles.tools}>
      <IconButton icon="up" label="Previous cable" className={styles.step} onClick={() => work.step(-1)} />
      <Button className={styles.big} icon="warning" onClick={onNote}>
        Problem
      </Button>
      {now.state === "done" ? (
        <Button className={styles.big} icon="undo" onClick={work.reopen}>
          Reopen
        </Button>
      ) : (
        <Button
          className={styles.big}
          look="primary"
          icon="check"
          onClick={() => work.finish({ state: "done", note: "" })}
        >
          Done
        </Button>
      )}
      <IconButton icon="down" label="Next cable" className={styles.step} onClick={() => work.step(1)} />
    </div>
  );
}

function RackTotal({ work: { marks, counts }, rack }: { work: Work; rack: string }) {
  if (marks.data === undefined)
    return marks.isError ? (
      <ProblemView
        error={marks.error}
        title="What others ticked off is not known"
        onRetry={() => void marks.refetch()}
      />
    ) : (
      <Skeleton height={32} />
    );
  return (
    <div className={styles.total}>
      <strong>{countsText(counts)}</strong>
      <Bar counts={counts} label={`Rack ${rack}`} />
    </div>
  );
}

const STATE_TEXT = { open: "Open", done: "Done", exception: "Problem" } as const;

function StateMark({ tick, waiting }: { tick: Tick; waiting: boolean }) {
  return (
    <span className={styles.state} data-state={tick.state} data-testid="cable-state">
      {STATE_TEXT[tick.state]}
      {waiting && " (waiting)"}
    </span>
  );
}

const OPEN: Tick = { state: "open", note: "" };

type Work = ReturnType<typeof useRackWork>;

/** Which cable is shown, what is done of the rack, and the steps from one cable to another. */
function useRackWork({ plan, revision, rack, cable, ticks }: Props, list: number[]) {
  const navigate = useNavigate();
  const marks = useMarks(plan, revision, { rack });
  const known = useMemo(() => ticksOf(marks.data ?? []), [marks.data]);
  const tickOf = (item: number): Tick => ticks.waiting.get(item) ?? known.get(item) ?? OPEN;
  const isOpen = (item: number) => tickOf(item).state === "open";
  const wanted = list.indexOf(cable === undefined ? -1 : (parseCableName(cable) ?? -1));
  // Without one in the URL: the first open cable when the rack's marks came, not the one after each
  // tick.
  const at = wanted >= 0 ? wanted : (nextOpen(list, 0, isOpen) ?? 0);
  const show = (next: number) =>
    void navigate({
      to: "/plans/$id/crew",
      params: { id: plan },
      search: { revision, rack, cable: cableName(list[next]!) },
      replace: true,
    });
  const counts: Counts = { cables: list.length, done: 0, exceptions: 0 };
  for (const item of list) {
    const { state } = tickOf(item);
    if (state === "done") counts.done++;
    if (state === "exception") counts.exceptions++;
  }
  return {
    at,
    marks,
    counts,
    tickOf,
    step: (by: number) => show((at + by + list.length) % list.length),
    /** Ticks the cable and moves to the next open one; stays on the last. */
    finish: (tick: Tick) => {
      ticks.tick(list[at]!, tick);
      show(nextOpen(list, at + 1, (item) => item !== list[at] && isOpen(item)) ?? at);
    },
    reopen: () => {
      ticks.tick(list[at]!, OPEN);
      show(at);
    },
  };
}

function ticksOf(marks: readonly Mark[]): Map<number, Tick> {
  return new Map(marks.map(({ cable, state, note }) => [cable, { state, note }]));
}

function useCrewCommands(work: Work, note: () => void): void {
  const { finish, reopen, step } = work;
  const commands: Command[] = [
    {
      id: "crew-done",
      title: "Done: tick this cable off",
      group: "Crew",
      icon: "check",
      keys: "d",
      run: () => finish({ state: "done", note: "" }),
    },
    { id: "crew-problem", title: "Note a problem", group: "Crew", icon: "warning", keys: "p", run: note },
    { id: "crew-reopen", title: "Reopen this cable", group: "Crew", icon: "undo", keys: "o", run: reopen },
    { id: "crew-next", title: "Next cable", group: "Crew", keys: "ArrowRight j", run: () => step(1) },
    { id: "crew-back", title: "Previous cable", group: "Crew", keys: "ArrowLeft k", run: () => step(-1) },
  ];
  useLatestCommands("crew", commands);
}

/**
 * Commands whose effect depends on the current cable: the registered commands stay the same, and
 * call the current function.
 */
function useLatestCommands(source: string, commands: Command[]): void {
  const latest = useRef(commands);
  useEffect(() => {
    latest.current = commands;
  });
  const [stable] = useState<Command[]>(() =>
    commands.map((command, at) => ({ ...command, run: () => latest.current[at]!.run() })),
  );
  useCommands(source, stable);
}

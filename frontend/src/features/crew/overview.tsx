import { useMemo } from "react";
import type { Mark } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import { ProblemView } from "@/shared/server/problem";
import { Button } from "@/ui/button";
import { Empty, Skeleton } from "@/ui/marks";
import { cableName, formatDate, formatShare, plural } from "@/units";
import { saveFile } from "@/units/save-file";
import styles from "./crew.module.css";
import { exceptionsCsv, homeRack } from "./exceptions-csv";
import { cableEnds } from "./order";
import { Bar, countsText, RackLink, WaitingNote } from "./parts";
import type { Ticks } from "./use-ticks";
import { useMarks, useProgress } from "./use-work";

interface Props {
  plan: string;
  revision: number;
  model: PlanModel;
  ticks: Ticks;
}

/**
 * Progress in all and by rack, and the problems: where a crew chooses a rack and the lead looks.
 */
export function Overview({ plan, revision, model, ticks }: Props) {
  const progress = useProgress(plan, revision);
  if (progress.isError && !progress.data)
    return <ProblemView error={progress.error} onRetry={() => void progress.refetch()} />;
  if (!progress.data) return <Skeleton height={240} />;
  const { racks, ...all } = progress.data;
  return (
    <>
      <WaitingNote ticks={ticks} />
      <div className={styles.total}>
        <strong>{countsText(all)}</strong>
        <Bar counts={all} label="All cables" />
      </div>
      <div className={styles.columns}>
        <section aria-labelledby="crew-racks">
          <h2 id="crew-racks">Racks</h2>
          <p className="muted plain">A cable between two racks is listed in both and ticked once.</p>
          <ul className={styles.racks}>
            {racks
              .filter((rack) => rack.cables > 0)
              .map((rack) => (
                <li key={rack.rack}>
                  <RackLink plan={plan} revision={revision} rack={rack.rack} className={styles.rack}>
                    <span className={styles.rackName}>{rack.rack}</span>
                    <Bar counts={rack} label={`Rack ${rack.rack}`} />
                    <span className={styles.rackCounts}>
                      {`${formatShare(rack.done, rack.cables)} done`}
                      {rack.exceptions > 0 && <span>{plural(rack.exceptions, "problem")}</span>}
                    </span>
                  </RackLink>
                </li>
              ))}
          </ul>
        </section>
        <Problems plan={plan} revision={revision} model={model} />
      </div>
    </>
  );
}

function Problems({ plan, revision, model }: Omit<Props, "ticks">) {
  const { data } = useMarks(plan, revision, { state: "exception" });
  const marks = useMemo(() => problemsOf(data ?? []), [data]);
  return (
    <section aria-labelledby="crew-problems">
      <div className={styles.sectionHead}>
        <h2 id="crew-problems">Problems</h2>
        <Button
          icon="export"
          disabled={marks.length === 0}
          onClick={() => saveFile(exceptionsCsv(model, marks), `problems-${plan}-r${revision}.csv`)}
        >
          CSV
        </Button>
      </div>
      {!data ? (
        <Skeleton height={64} />
      ) : marks.length === 0 ? (
        <Empty title="No problems noted" />
      ) : (
        <ul className={styles.problems}>
          {marks.map((mark) => (
            <ProblemRow key={mark.cable} plan={plan} revision={revision} model={model} mark={mark} />
          ))}
        </ul>
      )}
    </section>
  );
}

/** A mark that was just written may also be in the list with its old state. */
export function problemsOf(marks: readonly Mark[]): Mark[] {
  return marks.filter((mark) => mark.state === "exception").sort((a, b) => a.cable - b.cable);
}

function ProblemRow({ plan, revision, model, mark }: Omit<Props, "ticks"> & { mark: Mark }) {
  const rack = homeRack(model, mark.cable);
  const [near] = cableEnds(model, mark.cable, rack);
  const name = cableName(mark.cable);
  return (
    <li>
      <RackLink plan={plan} revision={revision} rack={near.rack} cable={name} className={styles.problem}>
        <strong>{name}</strong> <code>{near.label}</code>
      </RackLink>
      <p>{mark.note}</p>
      <p className="muted plain">
        {formatDate(mark.at)}
        {mark.by && ` · ${mark.by}`}
      </p>
    </li>
  );
}

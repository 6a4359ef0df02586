import { useMutation } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { create } from "zustand";
import { api, take } from "@/api/client";
import type { AsBuilt, Plan } from "@/api/types";
import { useLastPlan } from "@/shared/plans/last-plan";
import { usePlanAt } from "@/shared/plans/use-plan-at";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { DecimalQuestion, type Mark } from "@/shared/server/decimal-question";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { Button } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { LeftOut } from "@/ui/left-out";
import { Empty, Skeleton } from "@/ui/marks";
import { useFileDrop } from "@/ui/use-file-drop";
import { useTitle } from "@/ui/use-title";
import { formatCount, plural } from "@/units";
import styles from "./as-built.module.css";
import { Differences } from "./differences";
import { readFiles, type Upload } from "./files";
import { summaryText } from "./kinds";
import { WorkOrder } from "./work-order";

/** The id of an unsaved plan in the address. */
const UNSAVED = "new";

/** `/plans/$id/as-built`: compares a list of cables from the floor with the plan. */
export default function AsBuiltPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  useTitle("As built");
  return <Shell>{id === UNSAVED ? <SaveFirst /> : <SavedPlan id={id} />}</Shell>;
}

function SaveFirst() {
  const lastPlan = useLastPlan((state) => state.href);
  return (
    <div className={styles.page}>
      <h1>As built</h1>
      <Empty title="Save the plan first">
        <p>A list of cables is compared with a saved revision.</p>
        <Link to={lastPlan as "/"}>Back to the plan</Link>
      </Empty>
    </div>
  );
}

function SavedPlan({ id }: { id: string }) {
  const { revision } = useSearch({ strict: false }) as { revision?: number };
  const plan = usePlanAt(id, revision);
  if (plan.data) return <Check key={`${id} ${plan.data.revision}`} plan={plan.data} />;
  return (
    <div className={styles.page}>
      <h1>As built</h1>
      {plan.isError ? (
        <ProblemView
          error={plan.error}
          title="This plan cannot be opened"
          onRetry={() => void plan.refetch()}
        />
      ) : (
        <Skeleton height={240} />
      )}
    </div>
  );
}

async function send(plan: Plan, { body, type, host }: Upload, decimal?: Mark): Promise<AsBuilt> {
  return take(
    api.POST("/api/v1/plans/{id}/revisions/{revision}/as-built", {
      params: { path: { id: plan.id, revision: plan.revision }, query: { host, decimal } },
      // The file is sent as it is.
      body: "",
      bodySerializer: () => body,
      headers: { "Content-Type": type },
    }),
  );
}

/** The last list that was read, so that it is still shown after a visit to the picture. */
const useLastCheck = create<{ of: string; name: string; found: AsBuilt | null }>(() => ({
  of: "",
  name: "",
  found: null,
}));

function Check({ plan }: { plan: Plan }) {
  const of = `${plan.id} ${plan.revision}`;
  const last = useLastCheck();
  const check = useMutation({
    mutationFn: async ({ files, decimal }: { files: readonly File[]; decimal?: Mark }) => {
      useLastCheck.setState({ of, name: "", found: null });
      const upload = await readFiles(files);
      useLastCheck.setState({ of, name: upload.name, found: await send(plan, upload, decimal) });
    },
  });
  const open = (files: readonly File[]) => files.length > 0 && check.mutate({ files });
  const over = useFileDrop("window", open);
  useScreen(useRequests(plan));
  return (
    <div className={styles.page}>
      <Head plan={plan} />
      <FileField over={over} busy={check.isPending} onFiles={open} />
      {check.isError && (
        <ProblemView error={check.error} title="This list cannot be read">
          <DecimalQuestion
            error={check.error}
            onAnswer={(decimal) => check.mutate({ files: check.variables?.files ?? [], decimal })}
          />
        </ProblemView>
      )}
      {check.isPending && <Skeleton height={240} />}
      {last.of === of && last.found && <Result plan={plan} name={last.name} found={last.found} />}
    </div>
  );
}

function Head({ plan }: { plan: Plan }) {
  const { id, revision, head_revision } = plan;
  return (
    <header>
      <h1>As built: {plan.name}</h1>
      <p className={styles.muted}>
        <Link to="/plans/$id" params={{ id }} search={revision === head_revision ? {} : { revision }}>
          Plan
        </Link>
        {` · revision ${revision}`}
        {revision !== head_revision && (
          <>
            {" · "}
            <Link to="/plans/$id/as-built" params={{ id }} search={{ revision: head_revision }}>
              Revision {head_revision} is newer
            </Link>
          </>
        )}
      </p>
    </header>
  );
}

function FileField({
  over,
  busy,
  onFiles,
}: {
  over: boolean;
  busy: boolean;
  onFiles: (files: readonly File[]) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <section className={styles.drop} data-over={over || undefined} aria-label="Cable list">
      <p>
        Drop a list of the cables on the floor here: our cable schedule or NetBox’s cables (CSV, XLSX), or the
        output of <code>lldpctl -f json</code>, one file a device (h00.json) or all in one.
      </p>
      <Button icon="up" look="primary" disabled={busy} onClick={() => input.current?.click()}>
        Choose a file…
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Cable list"
        accept=".csv,.xlsx,.json,text/csv,application/json"
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
    </section>
  );
}

const FORMATS: Record<AsBuilt["list"]["format"], string> = {
  csv: "Cable schedule",
  netbox: "NetBox",
  lldp: "LLDP",
};

function Result({ plan, name, found }: { plan: Plan; name: string; found: AsBuilt }) {
  const { list, contradictions, remarks } = found;
  const from = [
    `${FORMATS[list.format]}: ${plural(list.cables, "cable")}`,
    list.reporters !== null && `${plural(list.reporters, "device")} reported`,
    list.with_length < list.cables &&
      (list.with_length === 0 ? "without lengths" : `${formatCount(list.with_length)} with their length`),
    list.skipped > 0 && `${plural(list.skipped, "row")} left out`,
  ];
  return (
    <>
      <div className={styles.verdict} role="status" data-good={found.in_order || undefined}>
        <Icon name={found.in_order ? "check" : "warning"} size={18} />
        <div>
          <strong>{summaryText(found)}</strong>
          <p className={styles.muted}>
            {name} · {from.filter(Boolean).join(" · ")}
          </p>
        </div>
      </div>
      {[...contradictions, ...remarks].length > 0 && (
        <section aria-labelledby="as-built-look">
          <h2 id="as-built-look">Look at these first</h2>
          <ul className={styles.look}>
            {[...contradictions, ...remarks].slice(0, 50).map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        </section>
      )}
      <LeftOut rows={list.skipped_rows} className={styles.look} />
      <Differences plan={plan} found={found} />
      <WorkOrder plan={plan} found={found} />
    </>
  );
}

function useRequests({ id, revision }: Plan): ScreenRequest[] {
  return useMemo(
    () => [
      {
        title: "Compare a cable list (send the file as the body)",
        method: "POST",
        path: `/api/v1/plans/${id}/revisions/${revision}/as-built`,
      },
    ],
    [id, revision],
  );
}

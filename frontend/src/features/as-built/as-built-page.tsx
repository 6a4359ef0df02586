import { useMutation } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { create } from "zustand";
import { api, take } from "@/api/client";
import type { AsBuilt, Plan } from "@/api/types";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { DecimalQuestion, type Mark } from "@/shared/server/decimal-question";
import { ProblemView } from "@/shared/server/problem";
import { RevisionLinks, SavedPlanPage } from "@/shared/shell/saved-plan";
import { Button } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { LeftOut } from "@/ui/left-out";
import { Skeleton } from "@/ui/marks";
import { useFileDrop } from "@/ui/use-file-drop";
import { useTitle } from "@/ui/use-title";
import { formatCount, plural } from "@/units";
import styles from "./as-built.module.css";
import { Differences } from "./differences";
import { readFiles, type Upload } from "./files";
import { summaryText } from "./kinds";
import { WorkOrder } from "./work-order";

/** `/plans/$id/as-built`: compares a list of cables from the floor with the plan. */
export default function AsBuiltPage() {
  useTitle("As built");
  return (
    <SavedPlanPage
      title="As built"
      reason="A list of cables is compared with a saved revision."
      className={styles.page}
    >
      {(plan) => <Check key={`${plan.id} ${plan.revision}`} plan={plan} />}
    </SavedPlanPage>
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
const useLastCheck = create<{ of: string; name: string; result: AsBuilt | null }>(() => ({
  of: "",
  name: "",
  result: null,
}));

function Check({ plan }: { plan: Plan }) {
  const of = `${plan.id} ${plan.revision}`;
  const last = useLastCheck();
  const check = useMutation({
    mutationFn: async ({ files, decimal }: { files: readonly File[]; decimal?: Mark }) => {
      useLastCheck.setState({ of, name: "", result: null });
      const upload = await readFiles(files);
      useLastCheck.setState({ of, name: upload.name, result: await send(plan, upload, decimal) });
    },
  });
  const open = (files: readonly File[]) => files.length > 0 && check.mutate({ files });
  const over = useFileDrop("window", open);
  useScreen(useRequests(plan));
  return (
    <div className={styles.page}>
      <header>
        <h1>As built: {plan.name}</h1>
        <RevisionLinks plan={plan} page="as-built" />
      </header>
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
      {last.of === of && last.result && <Result plan={plan} name={last.name} result={last.result} />}
    </div>
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

function Result({ plan, name, result }: { plan: Plan; name: string; result: AsBuilt }) {
  const { list, contradictions, remarks } = result;
  const from = [
    `${FORMATS[list.format]}: ${plural(list.cables, "cable")}`,
    list.reporters !== null && `${plural(list.reporters, "device")} reported`,
    list.with_length < list.cables &&
      (list.with_length === 0 ? "without lengths" : `${formatCount(list.with_length)} with their length`),
    list.skipped > 0 && `${plural(list.skipped, "row")} left out`,
  ];
  return (
    <>
      <div className={styles.verdict} role="status" data-good={result.in_order || undefined}>
        <Icon name={result.in_order ? "check" : "warning"} size={18} />
        <div>
          <strong>{summaryText(result)}</strong>
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
      <Differences plan={plan} result={result} />
      <WorkOrder plan={plan} result={result} />
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

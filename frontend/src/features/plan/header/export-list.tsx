/**
 * The formats under their headings, each with its button, its options and its call for the command
 * line.
 */
import { lazy, Suspense, useState } from "react";
import type { ExportFormat } from "@/api/types";
import type { Json, PlanSpec } from "@/shared/plans/spec";
import { curlOf, type ScreenRequest } from "@/shared/server/curl";
import { Button, IconButton } from "@/ui/button";
import { CopyButton } from "@/ui/clipboard";
import { Icon } from "@/ui/icon";
import { formatBytes } from "@/units";
import styles from "./export-menu.module.css";
import { RunningWords, shareOf } from "./running-words";
import { type Exporter, type ExportOptions, exportPath, useExportFormats } from "./use-export";

const OptionFields = lazy(() => import("./export-options"));

export default function ExportList({
  spec,
  name,
  exporter,
}: {
  spec: PlanSpec;
  name: string;
  exporter: Exporter;
}) {
  const formats = useExportFormats();
  const items = formats.data?.items ?? [];
  return (
    <div className={styles.exports}>
      {formats.isPending && <p className="muted tight">Loading formats…</p>}
      {formats.isError && (
        <p className="muted tight">
          {formats.error.message}{" "}
          <Button look="link" onClick={() => formats.refetch()}>
            Try again
          </Button>
        </p>
      )}
      {[...new Set(items.map((format) => format.group))].map((group) => (
        <section key={group} aria-label={group}>
          <h3 className={styles.group}>{group}</h3>
          <ul>
            {items
              .filter((format) => format.group === group)
              .map((format) => (
                <FormatItem key={format.name} format={format} spec={spec} name={name} exporter={exporter} />
              ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** A format: its button, and the progress or the size of its file. */
function FormatItem({
  format,
  spec,
  name,
  exporter,
}: {
  format: ExportFormat;
  spec: PlanSpec;
  name: string;
  exporter: Exporter;
}) {
  const { saved, running, done, start, cancel } = exporter;
  const [options, setOptions] = useState<ExportOptions>({});
  // The paper is the plan's own, in its site.
  const choices = format.options.some((option) => option !== "paper");
  return (
    <li>
      <div className={styles.format}>
        <button
          type="button"
          className={styles.formatButton}
          disabled={running !== null}
          onClick={() => void start(format, options)}
        >
          <span className={styles.extension}>{format.extension.split(".").at(-1)}</span>
          <span className={styles.formatText}>
            <strong>{format.title}</strong>
            <span className="muted tight">{format.description}</span>
            {format.checked && <span className="muted tight">{format.checked}</span>}
          </span>
        </button>
        {running?.format.name === format.name ? (
          <ExportProgress title={format.title} running={running} onCancel={cancel} />
        ) : (
          <span className={styles.progress}>
            {done?.format === format.name && (
              <>
                <Icon name="check" size={14} /> {formatBytes(done.bytes)}
              </>
            )}
            <CopyButton
              look="quiet"
              icon="terminal"
              aria-label={`Copy curl for ${format.title}`}
              text={() => curlOf(exportRequest(format, spec, name, saved, options), location.origin)}
            >
              curl
            </CopyButton>
          </span>
        )}
      </div>
      {choices && (
        <details className={styles.options}>
          <summary>Options</summary>
          <Suspense>
            <OptionFields format={format} saved={saved !== null} value={options} onChange={setOptions} />
          </Suspense>
        </details>
      )}
    </li>
  );
}

/** The progress of a download; without a known size, only that it is in progress. */
function ExportProgress({
  title,
  running,
  onCancel,
}: {
  title: string;
  running: NonNullable<Exporter["running"]>;
  onCancel: () => void;
}) {
  const share = shareOf(running);
  return (
    <span className={styles.progress}>
      {share !== null ? (
        <progress max={1} value={share} aria-label={`${title}, progress`} />
      ) : (
        <progress aria-label={`${title}, in progress`} />
      )}
      <RunningWords running={running} short />
      <IconButton small icon="close" label="Cancel the export" onClick={onCancel} />
    </span>
  );
}

/** The command that makes this file. */
function exportRequest(
  format: ExportFormat,
  spec: PlanSpec,
  name: string,
  saved: Exporter["saved"],
  options: ExportOptions,
): ScreenRequest {
  const { title } = format;
  const output = `plan.${format.extension}`;
  const path = exportPath(format.name, saved, saved ? { ...options, stream: "true" } : options);
  return saved
    ? { title, output, method: "GET", path }
    : { title, output, method: "POST", path, body: { spec: spec as Json, name } };
}

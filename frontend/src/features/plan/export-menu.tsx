import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api, call, errorOf, take } from "@/api/client";
import type { ExportFormat } from "@/api/types";
import { Button, buttonClass, IconButton } from "@/ui/button";
import { CopyButton, saveFile } from "@/ui/clipboard";
import { Icon } from "@/ui/icon";
import { DialogTrigger, PopoverPanel, TriggerButton } from "@/ui/overlay";
import { toast } from "@/ui/toast";
import { formatBytes } from "@/units";
import { curlOf } from "../shared/curl";
import { fileNameOf } from "../shared/download";
import type { Json, PlanSpec } from "../shared/spec";
import styles from "./header.module.css";
import page from "./plan-page.module.css";

interface Running {
  format: string;
  received: number;
  total: number | null;
}

export function useExportFormats() {
  return useQuery({
    queryKey: ["export-formats"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/exports", { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/**
 * Makes a file of the plan as it is drawn now, read as it streams: of the saved revision when there is one, with the prices
 * it keeps, else of the spec in one stateless call.
 */
export function useExport(spec: PlanSpec, name: string, saved: { id: string; revision: number } | null) {
  const [running, setRunning] = useState<Running | null>(null);
  const [done, setDone] = useState<{ format: string; bytes: number } | null>(null);
  const abort = useRef<AbortController | null>(null);

  const start = async (format: ExportFormat) => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    setRunning({ format: format.name, received: 0, total: null });
    setDone(null);
    try {
      const response = await call(
        saved
          ? new Request(`/api/v1/plans/${saved.id}/exports/${format.name}?revision=${saved.revision}`, {
              signal: controller.signal,
            })
          : new Request(`/api/v1/exports/${format.name}`, {
              method: "POST",
              headers: { "Content-Type": "application/json" },
              body: JSON.stringify({ spec, name }),
              signal: controller.signal,
            }),
      );
      if (!response.ok || !response.body) throw errorOf(await response.json().catch(() => null), response);
      const total = Number(response.headers.get("content-length")) || null;
      const reader = response.body.getReader();
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      let received = 0;
      for (;;) {
        const { done: ended, value } = await reader.read();
        if (ended) break;
        chunks.push(value as Uint8Array<ArrayBuffer>);
        received += value.length;
        setRunning({ format: format.name, received, total });
      }
      const fileName = fileNameOf(response.headers.get("content-disposition"), `plan.${format.extension}`);
      saveFile(new Blob(chunks, { type: format.media_type }), fileName);
      setDone({ format: format.name, bytes: received });
      toast(`${fileName}, ${formatBytes(received)}`);
    } catch (error) {
      if (controller.signal.aborted) toast("Export cancelled");
      else toast(error instanceof Error ? error.message : String(error), "error");
    } finally {
      if (abort.current === controller) setRunning(null);
    }
  };
  return { saved, running, done, start, cancel: () => abort.current?.abort() };
}

export function ExportMenu({
  spec,
  name,
  exporter,
}: {
  spec: PlanSpec;
  name: string;
  exporter: ReturnType<typeof useExport>;
}) {
  const formats = useExportFormats();
  const { saved, running, done, start, cancel } = exporter;
  return (
    <DialogTrigger>
      <TriggerButton className={buttonClass()}>
        <Icon name="export" />
        <span className={page.word}>Export</span>
        <Icon name="chevron" size={12} />
      </TriggerButton>
      <PopoverPanel label="Export the plan" width={400}>
        <div className={styles.exports}>
          {formats.isPending && <p className={styles.muted}>Loading formats…</p>}
          {formats.isError && (
            <p className={styles.muted}>
              {formats.error.message}{" "}
              <Button look="link" onClick={() => formats.refetch()}>
                Try again
              </Button>
            </p>
          )}
          <ul>
            {formats.data?.items.map((format) => {
              const busy = running?.format === format.name;
              return (
                <li key={format.name} className={styles.format}>
                  <button
                    type="button"
                    className={styles.formatButton}
                    disabled={running !== null}
                    onClick={() => void start(format)}
                  >
                    <span className={styles.extension}>{format.extension.split(".").at(-1)}</span>
                    <span className={styles.formatText}>
                      <strong>{format.title}</strong>
                      <span className={styles.muted}>{format.description}</span>
                    </span>
                  </button>
                  {busy ? (
                    <span className={styles.progress}>
                      {running.total ? (
                        <progress
                          max={running.total}
                          value={running.received}
                          aria-label={`${format.title}, progress`}
                        />
                      ) : (
                        <progress aria-label={`${format.title}, in progress`} />
                      )}
                      {running.received > 0 ? formatBytes(running.received) : "making…"}
                      <IconButton small icon="close" label="Cancel the export" onClick={cancel} />
                    </span>
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
                        text={() =>
                          curlOf(
                            {
                              title: format.title,
                              output: `plan.${format.extension}`,
                              ...(saved
                                ? {
                                    method: "GET" as const,
                                    path: `/api/v1/plans/${saved.id}/exports/${format.name}?revision=${saved.revision}`,
                                  }
                                : {
                                    method: "POST" as const,
                                    path: `/api/v1/exports/${format.name}`,
                                    body: { spec: spec as Json, name },
                                  }),
                            },
                            location.origin,
                          )
                        }
                      >
                        curl
                      </CopyButton>
                    </span>
                  )}
                </li>
              );
            })}
          </ul>
        </div>
      </PopoverPanel>
    </DialogTrigger>
  );
}

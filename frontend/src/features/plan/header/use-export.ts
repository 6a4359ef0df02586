/** Makes a file of the plan and follows its progress. */
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api, call, errorOf, requestTo, take } from "@/api/client";
import type { ExportFormat } from "@/api/types";
import type { PlanSpec } from "@/shared/plans/spec";
import { fileNameOf } from "@/shared/server/download";
import { toast } from "@/ui/toast";
import { formatBytes } from "@/units";
import { saveFile } from "@/units/save-file";
import type { Job } from "./export-job";

export interface Running {
  format: ExportFormat;
  received: number;
  total: number | null;
  /** For a file generated in the background: the progress from 0 to 1, and the current step. */
  making: { share: number; doing: string } | null;
}

/** The query parameters of an export: names and values as the API has them. */
export type ExportOptions = Partial<Record<string, string>>;

export function exportPath(
  format: string,
  saved: { id: string; revision: number } | null,
  options: ExportOptions,
): string {
  const query = new URLSearchParams({
    ...(saved && { revision: String(saved.revision) }),
    ...(options as Record<string, string>),
  });
  const path = saved ? `/api/v1/plans/${saved.id}/exports/${format}` : `/api/v1/exports/${format}`;
  return query.size ? `${path}?${query}` : path;
}

export function useExportFormats() {
  return useQuery({
    queryKey: ["export-formats"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/exports", { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/**
 * Exports the plan on screen as a stream: the saved revision with its prices if there is one, else
 * the spec in a stateless call. The server answers a large export of a saved plan with a job, which
 * is followed.
 */
export function useExport(spec: PlanSpec, name: string, saved: { id: string; revision: number } | null) {
  const [running, setRunning] = useState<Running | null>(null);
  const [done, setDone] = useState<{ format: string; bytes: number } | null>(null);
  const abort = useRef<AbortController | null>(null);

  const fileRequest = (format: ExportFormat, options: ExportOptions, signal: AbortSignal) =>
    saved
      ? requestTo(exportPath(format.name, saved, options), { signal })
      : requestTo(exportPath(format.name, saved, options), {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ spec, name }),
          signal,
        });
  const start = async (format: ExportFormat, options: ExportOptions = {}) => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    const { signal } = controller;
    setRunning({ format, received: 0, total: null, making: null });
    setDone(null);
    try {
      const first = await call(fileRequest(format, options, signal));
      const job = first.status === 202 ? ((await first.json()) as Job) : null;
      const jobs = job && (await import("./export-job"));
      const file =
        job && jobs
          ? await jobs.finishedJob(job, jobs.jobCalls, signal, ({ progress, doing }) =>
              setRunning({ format, received: 0, total: null, making: { share: progress, doing } }),
            )
          : null;
      const response = file ? await call(requestTo(file, { signal })) : first;
      if (!response.ok || !response.body) throw errorOf(await response.json().catch(() => null), response);
      // For a file generated in the background, the progress bar is already at its end: the
      // download must not move it back.
      const total = file ? null : Number(response.headers.get("content-length")) || null;
      const reader = response.body.getReader();
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      let received = 0;
      for (;;) {
        const { done: ended, value } = await reader.read();
        if (ended) break;
        chunks.push(value as Uint8Array<ArrayBuffer>);
        received += value.length;
        setRunning({ format, received, total, making: null });
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

export type Exporter = ReturnType<typeof useExport>;

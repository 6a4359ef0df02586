/** A file that is made in the background, with progress: for formats that take many seconds. */
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";

export type Job = components["schemas"]["Job"];

/** Formats of a saved plan that are worth a job; the others are there at once. */
export const MADE_AS_JOB: ReadonlySet<string> = new Set(["pdf"]);

const POLL_MS = 500;

export interface JobCalls {
  start: () => Promise<Job>;
  read: (id: string) => Promise<Job>;
  cancel: (id: string) => Promise<unknown>;
}

export const jobCalls = (plan: string, revision: number, format: string, options: object): JobCalls => ({
  start: () =>
    take(
      api.POST("/api/v1/plans/{id}/exports/{format}/jobs", {
        params: { path: { id: plan, format }, query: { revision, ...options } },
      }),
    ),
  read: (id) => take(api.GET("/api/v1/jobs/{id}", { params: { path: { id } } })),
  cancel: (id) => take(api.DELETE("/api/v1/jobs/{id}", { params: { path: { id } } })),
});

/**
 * Waits until the job is done and gives the address of its file. An aborted `signal` cancels the job. Throws what went wrong,
 * and the signal's reason when it was aborted.
 */
export async function finishedJob(
  calls: JobCalls,
  signal: AbortSignal,
  onProgress: (job: Job) => void,
  pollMs = POLL_MS,
): Promise<string> {
  let job = await calls.start();
  for (;;) {
    if (signal.aborted) {
      await calls.cancel(job.id);
      signal.throwIfAborted();
    }
    onProgress(job);
    if (job.state === "done" && job.result_url) return job.result_url;
    if (job.state === "failed") throw new Error(job.error ?? "The file could not be made.");
    if (job.state === "cancelled") throw new Error("The export was cancelled.");
    await Promise.race([
      new Promise((done) => setTimeout(done, pollMs)),
      new Promise((done) => signal.addEventListener("abort", done, { once: true })),
    ]);
    if (!signal.aborted) job = await calls.read(job.id);
  }
}

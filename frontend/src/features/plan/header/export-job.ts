/**
 * A file that the server makes in the background, with progress: it answers large exports with such
 * a job.
 */
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";

export type Job = components["schemas"]["Job"];

const POLL_MS = 500;

export interface JobCalls {
  read: (id: string) => Promise<Job>;
  cancel: (id: string) => Promise<unknown>;
}

export const jobCalls: JobCalls = {
  read: (id) => take(api.GET("/api/v1/jobs/{id}", { params: { path: { id } } })),
  cancel: (id) => take(api.DELETE("/api/v1/jobs/{id}", { params: { path: { id } } })),
};

/**
 * Waits until the job is done and returns the address of its file. An aborted `signal` cancels the
 * job. Throws the error of the job, or the signal's reason if it was aborted.
 */
export async function finishedJob(
  first: Job,
  calls: JobCalls,
  signal: AbortSignal,
  onProgress: (job: Job) => void,
  pollMs = POLL_MS,
): Promise<string> {
  let job = first;
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

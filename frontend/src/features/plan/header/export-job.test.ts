import { expect, test, vi } from "vitest";
import { finishedJob, type Job, type JobCalls } from "./export-job";

const job = (state: Job["state"], progress: number): Job =>
  ({ id: "j1", state, progress, error: null, result_url: state === "done" ? "/file" : null }) as Job;

/** A server that returns these states one after the other. */
function server(...states: Job[]): JobCalls & { cancel: ReturnType<typeof vi.fn> } {
  const next = () => Promise.resolve(states.length > 1 ? states.shift()! : states[0]!);
  return { read: next, cancel: vi.fn(() => Promise.resolve()) };
}

test("progress is shown until the file is ready", async () => {
  const reported: number[] = [];
  const calls = server(job("running", 0.4), job("running", 0.7), job("done", 1));
  const url = await finishedJob(
    job("queued", 0),
    calls,
    new AbortController().signal,
    ({ progress }) => reported.push(progress),
    0,
  );
  expect(url).toBe("/file");
  expect(reported).toEqual([0, 0.4, 0.7, 1]);
  expect(calls.cancel).not.toHaveBeenCalled();
});

test("a failed job shows its error", async () => {
  const calls = server({ ...job("failed", 0.1), error: "out of memory" });
  await expect(
    finishedJob(job("running", 0.1), calls, new AbortController().signal, () => {}, 0),
  ).rejects.toThrow("out of memory");
});

test("cancelling ends the job on the server, at once", async () => {
  const controller = new AbortController();
  const calls = server(job("running", 0.1));
  const waiting = finishedJob(job("running", 0.1), calls, controller.signal, () => {}, 60_000);
  setTimeout(() => controller.abort(), 5);
  await expect(waiting).rejects.toThrow();
  expect(calls.cancel).toHaveBeenCalledWith("j1");
});

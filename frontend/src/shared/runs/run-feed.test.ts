import { expect, test } from "vitest";
import { ApiError, UnreachableError } from "@/api/client";
import type { ServerEvent } from "@/api/events";
import { type FeedState, followRun, retryMs } from "./run-feed";

const point = (id: number): ServerEvent => ({ id: String(id), event: "point", data: `${id}` });
const state = (id: number, name: string): ServerEvent => ({
  id: String(id),
  event: "state",
  data: JSON.stringify({ state: name, reason: "" }),
});

type Connection = { pieces: ServerEvent[][]; end: "over" | "ended" | Error };

/** Follows a run whose connections behave as scripted, and returns the result. */
async function follow(connections: Connection[]) {
  const frames: string[] = [];
  const states: FeedState[] = [];
  const begins: number[] = [];
  const waits: number[] = [];
  const left = [...connections];
  await new Promise<void>((resolve) => {
    followRun(
      "/events",
      {
        onEvents: (events) => frames.push(...events.map((event) => event.data)),
        onState: (now) => {
          if (states.at(-1) !== now) states.push(now);
          if (now === "over" || now === "refused") resolve();
        },
      },
      async function* (_path, last) {
        begins.push(last);
        const connection = left.shift()!;
        for (const piece of connection.pieces) yield piece;
        if (connection.end instanceof Error) throw connection.end;
        return connection.end;
      },
      async (ms) => void waits.push(ms),
    );
  });
  return { frames, states, begins, waits };
}

test("a lost connection is taken up after the last frame, and no frame counts twice", async () => {
  const followed = await follow([
    { pieces: [[state(1, "running"), point(2)], [], [point(3)]], end: new UnreachableError() },
    { pieces: [], end: new UnreachableError() },
    { pieces: [[point(3), point(4)], [state(5, "succeeded")]], end: "ended" },
  ]);
  expect(followed.begins).toEqual([0, 3, 3]);
  expect(followed.frames.filter((data) => /^\d$/.test(data))).toEqual(["2", "3", "4"]);
  expect(followed.states).toEqual(["connecting", "live", "lost", "live", "over"]);
  expect(followed.waits).toEqual([retryMs(0), retryMs(1)]);
});

test("a stream that ends before the run does is asked again; what was received already is over", async () => {
  const followed = await follow([
    { pieces: [[state(1, "running")]], end: "ended" },
    { pieces: [], end: "over" },
  ]);
  expect(followed.begins).toEqual([0, 1]);
  expect(followed.states.at(-1)).toBe("over");
});

test("the server's refusal is final", async () => {
  const refusal = new ApiError({ status: 404, title: "Not found", detail: "no run" } as never);
  const followed = await follow([{ pieces: [], end: refusal }]);
  expect(followed.states).toEqual(["connecting", "refused"]);
});

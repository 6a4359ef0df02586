import { afterEach, expect, test, vi } from "vitest";
import { call } from "./client";

afterEach(() => vi.unstubAllGlobals());

function stub(...answers: Response[]) {
  const fetched = vi.fn(async (request: Request) => {
    await request.text();
    return answers.shift()!;
  });
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

const busy = () => new Response("", { status: 503, headers: { "retry-after": "0.01" } });
const preview = () => new Request("http://localhost/api/v1/plans/preview", { method: "POST", body: "{}" });

test("a busy server is asked again, with the same body, after the time that it names", async () => {
  const fetched = stub(busy(), busy(), new Response("plan"));
  expect(await (await call(preview())).text()).toBe("plan");
  expect(fetched).toHaveBeenCalledTimes(3);
});

test("a server that stays busy says so in the end", async () => {
  const fetched = stub(...Array.from({ length: 9 }, busy));
  expect((await call(preview())).status).toBe(503);
  expect(fetched).toHaveBeenCalledTimes(5);
});

test("an answer that names no time is final", async () => {
  const fetched = stub(new Response("", { status: 503 }));
  expect((await call(preview())).status).toBe(503);
  expect(fetched).toHaveBeenCalledTimes(1);
});

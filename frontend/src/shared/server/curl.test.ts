import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { curlOf } from "./curl";

/** The arguments that a real shell passes to curl. */
function shellArguments(command: string): string[] {
  const script = `curl() { for a in "$@"; do printf '%s\\0' "$a"; done; }\n${command}`;
  return execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

test("a shell reads back exactly what was meant, quotes and all", () => {
  const body = { spec: { name: 'it\'s $HOME `x` "y" \\ <3,001>' } };
  const command = curlOf(
    { title: "x", method: "POST", path: "/api/v1/plans/preview?a=1&b=2", body, output: "it's.json" },
    "http://127.0.0.1:8000",
  );
  expect(shellArguments(command)).toEqual([
    "http://127.0.0.1:8000/api/v1/plans/preview?a=1&b=2",
    "-H",
    "Content-Type: application/json",
    "-d",
    JSON.stringify(body),
    "-o",
    "it's.json",
  ]);
});

test("methods without a body are named, GET is not", () => {
  expect(shellArguments(curlOf({ title: "x", method: "DELETE", path: "/p" }, "http://h"))).toEqual([
    "-X",
    "DELETE",
    "http://h/p",
  ]);
  expect(shellArguments(curlOf({ title: "x", method: "GET", path: "/p" }, "http://h"))).toEqual([
    "http://h/p",
  ]);
});

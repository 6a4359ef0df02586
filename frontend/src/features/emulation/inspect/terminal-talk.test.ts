import { describe, expect, it } from "vitest";
import {
  afterClose,
  afterMessage,
  CONNECTING,
  inputMessages,
  MAX_INPUT,
  resizeMessage,
  statusText,
} from "./terminal-talk";

const server = (state: string) => JSON.stringify({ type: "server", state, text: `It is ${state}.` });

describe("a terminal's status", () => {
  it("follows the server and ends with the shell's exit status", () => {
    const open = afterMessage(CONNECTING, server("running"));
    expect(open).toMatchObject({ state: "open", text: "It is running." });
    const frozen = afterMessage(open, server("paused"));
    expect(frozen.state).toBe("frozen");
    const again = afterMessage(frozen, server("running"));
    expect(again.state).toBe("open");
    const end = afterMessage(
      again,
      JSON.stringify({ type: "end", reason: "The shell has ended.", exit_code: 7 }),
    );
    expect(statusText(end)).toBe("The shell has ended. Exit status 7.");
    expect(afterClose(end)).toBe(end);
  });

  it("says that a connection broke, or that there never was one", () => {
    const open = afterMessage(CONNECTING, server("running"));
    expect(statusText(afterClose(open))).toContain("connection to Cubeyard broke");
    expect(statusText(afterClose(CONNECTING))).toContain("No shell was started");
  });

  it("stays as it is after a message of a later version", () => {
    expect(afterMessage(CONNECTING, JSON.stringify({ type: "news" }))).toBe(CONNECTING);
  });
});

describe("what is typed", () => {
  it("goes in messages that the server takes, without a cut through a character", () => {
    const pasted = "🙂".repeat(MAX_INPUT + 10);
    const messages = inputMessages(pasted).map((inputMessage) => JSON.parse(inputMessage));
    expect(messages.map(({ type }) => type)).toEqual(["input", "input"]);
    expect(messages.map(({ data }) => data).join("")).toBe(pasted);
  });

  it("and sizes are JSON", () => {
    expect(JSON.parse(resizeMessage(80, 24))).toEqual({ type: "resize", columns: 80, rows: 24 });
  });
});

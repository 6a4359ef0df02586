/** The messages on a terminal's WebSocket, and the terminal's state on the page. */

/** The server takes no longer message. */
export const MAX_INPUT = 4096;

export interface TerminalStatus {
  state: "connecting" | "open" | "frozen" | "ended";
  text: string;
  /** The exit code of the shell; null while it runs, and if it was ended from outside. */
  exitCode: number | null;
}

export const CONNECTING: TerminalStatus = { state: "connecting", text: "Starting a shell…", exitCode: null };

/** The status after a JSON message of the server. */
export function afterMessage(status: TerminalStatus, message: string): TerminalStatus {
  const frame = JSON.parse(message) as {
    type: string;
    state?: string;
    text?: string;
    reason?: string;
    exit_code?: number | null;
  };
  if (frame.type === "end")
    return { state: "ended", text: frame.reason ?? "", exitCode: frame.exit_code ?? null };
  if (frame.type !== "server") return status;
  return { state: frame.state === "paused" ? "frozen" : "open", text: frame.text ?? "", exitCode: null };
}

/**
 * The status after the connection was closed: its last message has the reason, unless the
 * connection broke.
 */
export function afterClose(status: TerminalStatus): TerminalStatus {
  if (status.state === "ended") return status;
  const never = status.state === "connecting";
  const text = never
    ? "No shell was started: the server refused the connection."
    : "The connection to Cubeyard broke; the shell was ended.";
  return { state: "ended", text, exitCode: null };
}

export const statusText = ({ text, exitCode }: TerminalStatus): string =>
  exitCode === null ? text : `${text} Exit status ${exitCode}.`;

/** Input in messages that the server takes, never cut within a character. */
export function inputMessages(data: string): string[] {
  const letters = Array.from(data);
  const messages: string[] = [];
  for (let at = 0; at < letters.length; at += MAX_INPUT)
    messages.push(JSON.stringify({ type: "input", data: letters.slice(at, at + MAX_INPUT).join("") }));
  return messages;
}

export const resizeMessage = (columns: number, rows: number): string =>
  JSON.stringify({ type: "resize", columns, rows });

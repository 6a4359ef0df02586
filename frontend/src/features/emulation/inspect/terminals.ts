/**
 * The open terminals of a live run. They are independent of the selection: a shell keeps running
 * when something else is inspected.
 */
import { create } from "zustand";
import { CONNECTING, type TerminalStatus } from "./terminal-talk";

export interface OpenTerminal {
  /** The server's name; a server has one terminal here. */
  name: string;
  /** Each opening is a new shell. */
  opening: number;
  status: TerminalStatus;
}

export interface Terminals {
  run: string;
  open: readonly OpenTerminal[];
  /** The server whose terminal is on top. */
  shown: string | null;
}

export const NO_TERMINALS: Terminals = { run: "", open: [], shown: null };

/** Adds a shell in a server, on top; if the server has one already, a new shell replaces it. */
export function withShell(terminals: Terminals, run: string, name: string): Terminals {
  const before = terminals.run === run ? terminals.open : [];
  const opening = Math.max(0, ...before.map((item) => item.opening)) + 1;
  const fresh = { name, opening, status: CONNECTING };
  const known = before.some((item) => item.name === name);
  const open = known ? before.map((item) => (item.name === name ? fresh : item)) : [...before, fresh];
  return { run, open, shown: name };
}

/** Removes the terminal of a server; the one next to it comes on top. */
export function withoutShell(terminals: Terminals, name: string): Terminals {
  const at = terminals.open.findIndex((item) => item.name === name);
  const open = terminals.open.filter((item) => item.name !== name);
  const next = open[Math.min(at, open.length - 1)]?.name ?? null;
  return { ...terminals, open, shown: terminals.shown === name ? next : terminals.shown };
}

/** Updates the status of one opening; a message for an earlier opening is ignored. */
export function withStatus(terminals: Terminals, opening: number, status: TerminalStatus): Terminals {
  const open = terminals.open.map((item) => (item.opening === opening ? { ...item, status } : item));
  return { ...terminals, open };
}

export const useTerminals = create<
  Terminals & {
    start: (run: string, name: string) => void;
    close: (name: string) => void;
    show: (name: string) => void;
    tell: (opening: number, status: TerminalStatus) => void;
    closeAll: () => void;
  }
>((set) => ({
  ...NO_TERMINALS,
  start: (run, name) => set((now) => withShell(now, run, name)),
  close: (name) => set((now) => withoutShell(now, name)),
  show: (shown) => set({ shown }),
  tell: (opening, status) => set((now) => withStatus(now, opening, status)),
  closeAll: () => set(NO_TERMINALS),
}));

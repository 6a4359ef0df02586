/** Undo and redo of planning edits. Pure: the caller gives the time. */

export interface History<T> {
  past: T[];
  present: T;
  future: T[];
  /** The field and time of the last edit, so that typing one number is one undo step. */
  lastEdit: { key: string; atMs: number } | null;
}

const LIMIT = 200;
/** Edits of the same field closer together than this are one step. */
export const COALESCE_MS = 700;

export function startHistory<T>(present: T): History<T> {
  return { past: [], present, future: [], lastEdit: null };
}

export function edit<T>(history: History<T>, present: T, key: string, atMs: number): History<T> {
  const { lastEdit } = history;
  const continues =
    lastEdit !== null &&
    lastEdit.key === key &&
    atMs - lastEdit.atMs < COALESCE_MS &&
    history.past.length > 0;
  const past = continues ? history.past : [...history.past, history.present].slice(-LIMIT);
  return { past, present, future: [], lastEdit: { key, atMs } };
}

export function undo<T>(history: History<T>): History<T> {
  const present = history.past.at(-1);
  if (present === undefined) return history;
  return {
    past: history.past.slice(0, -1),
    present,
    future: [history.present, ...history.future],
    lastEdit: null,
  };
}

export function redo<T>(history: History<T>): History<T> {
  const [present, ...future] = history.future;
  if (present === undefined) return history;
  return { past: [...history.past, history.present], present, future, lastEdit: null };
}

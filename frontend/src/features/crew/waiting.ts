/**
 * Ticks that the server does not have yet. Each is stored under a separate key, so that two tabs do
 * not overwrite each other.
 */

export interface Tick {
  state: "open" | "done" | "exception";
  note: string;
}

export type Waiting = ReadonlyMap<number, Tick>;

const prefixOf = (plan: string, revision: number) => `cubeyard.crew.${plan}.${revision}.`;

/**
 * The stored ticks of a revision, including those of earlier visits. Unreadable entries are
 * ignored.
 */
export function readWaiting(store: Storage, plan: string, revision: number): Map<number, Tick> {
  const prefix = prefixOf(plan, revision);
  const ticks = new Map<number, Tick>();
  for (let at = 0; at < store.length; at++) {
    const key = store.key(at)!;
    const cable = key.startsWith(prefix) ? Number(key.slice(prefix.length)) : Number.NaN;
    const tick = Number.isInteger(cable) && cable >= 0 ? parsed(store.getItem(key)) : null;
    if (tick) ticks.set(cable, tick);
  }
  return ticks;
}

function parsed(text: string | null): Tick | null {
  try {
    const { state, note } = JSON.parse(text ?? "") as Partial<Tick>;
    const known = state === "open" || state === "done" || state === "exception";
    return known && typeof note === "string" ? { state, note } : null;
  } catch {
    return null;
  }
}

/** Keeps a tick; false where the browser keeps nothing. */
export function keep(store: Storage, plan: string, revision: number, cable: number, tick: Tick): boolean {
  try {
    store.setItem(prefixOf(plan, revision) + cable, JSON.stringify(tick));
    return true;
  } catch {
    return false;
  }
}

export function forget(store: Storage, plan: string, revision: number, cable: number): void {
  try {
    store.removeItem(prefixOf(plan, revision) + cable);
  } catch {
    // Nothing was kept either.
  }
}

const same = (a: Tick | undefined, b: Tick) => a?.state === b.state && a.note === b.note;

/**
 * The ticks that still wait after `sent` arrived: a tick that was changed meanwhile must be sent
 * again.
 */
export function withoutSent(waiting: Waiting, sent: Waiting): Map<number, Tick> {
  return new Map([...waiting].filter(([cable, tick]) => !same(sent.get(cable), tick)));
}

/** The first ticks of `waiting`, as many as one request may carry. */
export function batchOf(waiting: Waiting, most: number): Map<number, Tick> {
  return new Map([...waiting].slice(0, most));
}

/**
 * The plan spec as the page edits it: plain JSON, sparse (what is not there is a default), never
 * changed in place.
 */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface TopologySpec extends JsonObject {
  family: string;
}

export interface PlanSpec extends JsonObject {
  topology: TopologySpec;
}

/** The plan `/` opens on: the BCube paper's partial BCube_3 with 2,048 servers. [bcube §5.1] */
export const DEFAULT_SPEC: PlanSpec = {
  topology: { family: "bcube", n: 8, k: 3, servers: 2048 },
  catalog: "current-2026",
};

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a dotted path like `topology.n`, or undefined. */
export function getIn(spec: JsonObject, path: string): Json | undefined {
  let at: Json | undefined = spec;
  for (const key of path.split(".")) {
    if (!isObject(at)) return undefined;
    at = at[key];
  }
  return at;
}

/**
 * A copy with `value` at the path; undefined removes it, and objects that become empty go too (back
 * to the default).
 */
export function setIn<T extends JsonObject>(spec: T, path: string, value: Json | undefined): T {
  const [key, ...rest] = path.split(".") as [string, ...string[]];
  const copy: JsonObject = { ...spec };
  if (rest.length === 0) {
    if (value === undefined) delete copy[key];
    else copy[key] = value;
    return copy as T;
  }
  const child = copy[key];
  const next = setIn(isObject(child) ? child : {}, rest.join("."), value);
  if (Object.keys(next).length === 0) delete copy[key];
  else copy[key] = next;
  return copy as T;
}

/**
 * RFC 7396: null removes, objects merge, everything else replaces. This is how a finding's fix is
 * applied.
 */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const copy: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete copy[key];
    else copy[key] = mergePatch(copy[key], value);
  }
  return copy;
}

/** JSON with sorted keys: equal specs have equal text. */
export function canonical(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (isObject(value)) {
    const keys = Object.keys(value).sort();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
  }
  return JSON.stringify(value ?? null);
}

export function sameSpec(a: PlanSpec, b: PlanSpec): boolean {
  return a === b || canonical(a) === canonical(b);
}

/**
 * Reads a spec from JSON a person or a link brought: a bare topology (an object with `family`)
 * becomes a plan.
 */
export function readSpec(value: unknown): PlanSpec | null {
  if (!isObject(value)) return null;
  if (typeof value.family === "string") return { topology: value as TopologySpec };
  if (isObject(value.topology) && typeof value.topology.family === "string") return value as PlanSpec;
  return null;
}

/**
 * The state of the plan page that is in the URL in addition to the plan itself. Unreadable values
 * fall back to the default.
 */

export const VIEWS = ["floor", "logical", "matrix", "3d"] as const;
export const LINKS = ["trunk", "sel", "all"] as const;
export const TABS = ["cables", "bom", "power", "racks"] as const;

export type View = (typeof VIEWS)[number];
export type Links = (typeof LINKS)[number];
export type Tab = (typeof TABS)[number];

export interface PlanSearch {
  view?: View;
  /** `rack:R11`, `device:0132`, `cable:C02816`, `tray:…`, `level:2`. */
  sel?: string;
  color?: string;
  links?: Links;
  tab?: Tab;
  /** The filter of the tables. */
  q?: string;
  /** How tables are sorted: `cables.-routed,bom.price`. */
  sort?: string;
  /** The spec, packed by share.ts. */
  spec?: string;
  /** The spec as readable JSON: a topology or a whole plan. */
  topology?: string;
  /** Packed copies of notes, next to a packed spec. */
  notes?: string;
  /** An earlier revision of a saved plan. */
  revision?: number;
}

export function oneOf<T extends string>(values: readonly T[], value: unknown): T | undefined {
  return values.find((v) => v === value);
}

export function text(value: unknown, max: number): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" && value.length <= max ? value : undefined;
}

/** Removes fields that are not set, so that defaults never lengthen the URL. */
export function compact<T extends object>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as T;
}

export function readPlanSearch(search: Record<string, unknown>): PlanSearch {
  const revision = Number(search.revision);
  // A router that parses JSON-looking values hands the topology over as an object.
  const topology =
    typeof search.topology === "object" && search.topology !== null
      ? JSON.stringify(search.topology)
      : search.topology;
  return compact({
    view: oneOf(VIEWS, search.view),
    sel: text(search.sel, SEL_MAX),
    color: text(search.color, 40),
    links: oneOf(LINKS, search.links),
    tab: oneOf(TABS, search.tab),
    q: text(search.q, 200),
    sort: writeSorts(readSorts(text(search.sort, 200))),
    spec: text(search.spec, 64_000),
    topology: text(topology, 64_000),
    notes: text(search.notes, 64_000),
    revision: Number.isInteger(revision) && revision > 0 ? revision : undefined,
  });
}

/** The filters of the change log. */
export interface ChangesSearch {
  kind?: string;
  /** The id of a saved plan, with its related fields. */
  plan?: string;
  who?: string;
  q?: string;
}

export const readChangesSearch = (search: Record<string, unknown>): ChangesSearch =>
  compact({
    kind: text(search.kind, 20),
    plan: text(search.plan, 40),
    who: text(search.who, 120),
    q: text(search.q, 200),
  });

/** The column that each table is sorted by; tables in their natural order have none. */
export type Sorts = Partial<Record<Tab, { column: string; descending: boolean }>>;

/** Parses `cables.-routed,bom.price`; a minus means descending. Unreadable parts are ignored. */
export function readSorts(value: string | undefined): Sorts {
  const sorts: Sorts = {};
  for (const part of value?.split(",") ?? []) {
    const [, name, minus, column] = /^([a-z]+)\.(-?)(\w[\w-]*)$/.exec(part) ?? [];
    const tab = oneOf(TABS, name);
    if (tab && column) sorts[tab] = { column, descending: minus === "-" };
  }
  return sorts;
}

/** For `readSorts`; undefined when every table is in its natural order. */
export function writeSorts(sorts: Sorts): string | undefined {
  const parts = TABS.flatMap((tab) => {
    const sort = sorts[tab];
    return sort ? [`${tab}.${sort.descending ? "-" : ""}${sort.column}`] : [];
  });
  return parts.length > 0 ? parts.join(",") : undefined;
}

export type SelectionKind = "rack" | "device" | "cable" | "tray" | "bundle" | "level" | "group";
const KINDS: readonly SelectionKind[] = ["rack", "device", "cable", "tray", "bundle", "level", "group"];

/** The selection by the names that every table, label and export uses. */
export interface NamedSelection {
  kind: SelectionKind;
  names: string[];
}

/** A selection of more letters than this is not kept in the URL. */
const SEL_MAX = 4_000;
/** No name of any family holds a tilde. */
const BETWEEN = "~";

/** Names may hold colons and commas; only the first colon splits. */
export function readSelection(text: string | undefined): NamedSelection | null {
  const at = text?.indexOf(":") ?? -1;
  if (text === undefined || at < 1) return null;
  const kind = oneOf(KINDS, text.slice(0, at));
  const names = text
    .slice(at + 1)
    .split(BETWEEN)
    .filter(Boolean);
  return kind && names.length > 0 ? { kind, names } : null;
}

export function writeSelection(selection: NamedSelection | null): string | undefined {
  const written = selection ? `${selection.kind}:${selection.names.join(BETWEEN)}` : "";
  return text(written, SEL_MAX);
}

/**
 * The state of the pages of experiments and runs that is in the URL. Unreadable values fall back to
 * the default.
 */
import { compact, oneOf, text } from "@/shared/plans/url-state";

export interface ExperimentsSearch {
  /** The experiment being written, packed by share.ts. */
  draft?: string;
  /** The plan to predict: a saved id, `ex.…` or `z.…`, as on the compare page. */
  plan?: string;
  /** An experiment to begin from. */
  from?: string;
  /** Real packets instead of a prediction, for a draft that begins. */
  engine?: "emulation";
  /** The view on the right side. */
  as?: "json";
  /** Words of the names in the list. */
  q?: string;
}

export function readExperimentsSearch(search: Record<string, unknown>): ExperimentsSearch {
  return compact({
    draft: text(search.draft, 64_000),
    plan: text(search.plan, 64_000),
    from: text(search.from, 40),
    engine: oneOf(["emulation"] as const, search.engine),
    as: oneOf(["json"] as const, search.as),
    q: text(search.q, 200),
  });
}

export const RUN_STATES = ["queued", "running", "succeeded", "failed", "cancelled"] as const;
export const RUN_KINDS = ["prediction", "sweep", "simulation", "emulation", "figure"] as const;

export interface RunsSearch {
  state?: (typeof RUN_STATES)[number];
  kind?: (typeof RUN_KINDS)[number];
  experiment?: string;
  q?: string;
}

export function readRunsSearch(search: Record<string, unknown>): RunsSearch {
  return compact({
    state: oneOf(RUN_STATES, search.state),
    kind: oneOf(RUN_KINDS, search.kind),
    experiment: text(search.experiment, 40),
    q: text(search.q, 200),
  });
}

export interface RunSearch {
  /** The quantity that the charts show. */
  metric?: string;
  /** The point whose numbers and links are shown. */
  point?: number;
  view?: "floor" | "logical";
  /** The selection in the picture, by name. */
  sel?: string;
  /** For an emulation: stay at a time instead of following the newest data. */
  mode?: "live" | "replay";
  /** That time, in seconds of the session; negative while it settles. */
  at?: number;
}

export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const point = Number(search.point);
  const at = Number(search.at);
  return compact({
    mode: oneOf(["live", "replay"] as const, search.mode),
    at: search.at !== undefined && search.at !== "" && Number.isFinite(at) ? at : undefined,
    metric: text(search.metric, 20),
    point: search.point !== undefined && Number.isInteger(point) && point >= 0 ? point : undefined,
    view: oneOf(["floor", "logical"] as const, search.view),
    sel: text(search.sel, 2000),
  });
}

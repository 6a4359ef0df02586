/** What the pages of figures say about a result: verdicts, papers, numbers and lines; no drawing. */
import type { Figure, FigureResult, FigureSummary } from "@/api/types";
import type { LineSeries } from "@/charts";
import { formatShort, plural } from "@/units";

export const VERDICTS = ["matches", "within band", "differs"] as const;
export type Verdict = (typeof VERDICTS)[number];

export const isVerdict = (text: string): text is Verdict => (VERDICTS as readonly string[]).includes(text);

/** How many numbers have each verdict, or null for a figure that was never computed. */
export function verdictCounts(
  figure: Pick<Figure, "verdicts" | "result_run">,
): { verdict: Verdict; count: number }[] | null {
  if (figure.result_run === null) return null;
  return VERDICTS.map((verdict) => ({ verdict, count: figure.verdicts[verdict] ?? 0 }));
}

/** "11 match, 1 within band". */
export function summaryText(figure: Pick<Figure, "verdicts" | "result_run">): string {
  const counts = verdictCounts(figure);
  if (counts === null) return "not run";
  return (
    counts
      .filter(({ count }) => count > 0)
      .map(({ verdict, count }) => countText(verdict, count))
      .join(", ") || "no numbers"
  );
}

export function countText(verdict: Verdict, count: number): string {
  if (verdict === "within band") return `${count} within band`;
  if (verdict === "matches") return plural(count, "matches", "match");
  return plural(count, "differs", "differ");
}

const PAPERS: Record<string, { name: string; title: string }> = {
  bcube: {
    name: "BCube",
    title: "A High Performance, Server-centric Network Architecture for Modular Data Centers, 2009",
  },
  dcell: {
    name: "DCell",
    title: "A Scalable and Fault-Tolerant Network Structure for Data Centers, 2008",
  },
  camcube: { name: "CamCube", title: "Symbiotic Routing in Future Data Centers, 2010" },
  subways: {
    name: "Subways",
    title: "A Case for Redundant, Inexpensive Data Center Edge Links, 2015",
  },
};

/** `[bcube §8, Table 2]` is the paper `bcube` and the place `§8, Table 2`. */
export function sourceParts(source: string): { paper: string; place: string } {
  const bare = source.replace(/^\[|\]$/g, "");
  const gap = bare.indexOf(" ");
  return gap < 0 ? { paper: bare, place: "" } : { paper: bare.slice(0, gap), place: bare.slice(gap + 1) };
}

export interface PaperGroup<T> {
  paper: string;
  name: string;
  title: string;
  items: T[];
}

/** Papers in the order of their first figure, figures in their own order. */
export function groupByPaper<T extends Pick<FigureSummary, "source">>(items: readonly T[]): PaperGroup<T>[] {
  const groups = new Map<string, PaperGroup<T>>();
  for (const item of items) {
    const { paper } = sourceParts(item.source);
    const known = PAPERS[paper];
    const group = groups.get(paper) ?? {
      paper,
      name: known?.name ?? paper,
      title: known?.title ?? "",
      items: [],
    };
    group.items.push(item);
    groups.set(paper, group);
  }
  return [...groups.values()];
}

type Maybe = number | null | undefined;

/** A number to `digits` significant digits, whole ones in full. */
export function valueText(value: Maybe, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const whole = value === 0 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;
  return formatShort(value, Math.min(12, Math.max(0, digits - whole)));
}

/** Edges keep more digits than values: a band of half a printed digit is narrower than one. */
export function bandText(low: Maybe, high: Maybe): string {
  if (low === null && high === null) return "–";
  if (low === high) return valueText(low, 7);
  return `${valueText(low, 7)} to ${valueText(high, 7)}`;
}

export const unitText = (unit: string): string =>
  unit.replace(/([a-z])2\b/g, "$1²").replace(/([a-z])3\b/g, "$1³");

/** Whether measured numbers are the network's or the machine's. */
export interface Fidelity {
  verdict: "faithful" | "emulator-limited" | "unknown";
  reason: string;
}

interface Provenance {
  engine?: string;
  engine_version?: string;
  seeds?: number[];
  /** Of a measured figure, with what follows. */
  host?: { cpu: string; cores: number; kernel: string; load_before: number; load_after: number };
  fidelity?: Fidelity;
}

/** Whoever makes a figure adds fields to its document that the schema leaves open. */
interface Document {
  axes?: { x: string; y: string };
  choices?: string[];
  provenance?: Provenance;
}

const documentOf = (result: FigureResult) => result as FigureResult & Document;

export const axesOf = (result: FigureResult) => documentOf(result).axes ?? { x: "x", y: "y" };
export const choicesOf = (result: FigureResult): string[] => documentOf(result).choices ?? [];
export const seedsOf = (result: FigureResult | null): number | null =>
  (result && documentOf(result).provenance?.seeds?.length) || null;

export const fidelityOf = (result: FigureResult): Fidelity | null =>
  documentOf(result).provenance?.fidelity ?? null;

const FIDELITY_TEXT: Record<Fidelity["verdict"], string> = {
  faithful: "faithful",
  "emulator-limited": "limited by the machine",
  unknown: "fidelity unknown",
};

export const fidelityText = ({ verdict }: Fidelity): string => FIDELITY_TEXT[verdict];

/** Where the numbers were measured; nothing for computed ones. */
function hostTexts({ host, fidelity }: Provenance): string[] {
  return [
    ...(host
      ? [
          `${host.cores} cores ${host.cpu}`,
          `kernel ${host.kernel}`,
          `load ${host.load_before} before, ${host.load_after} after`,
        ]
      : []),
    ...(fidelity ? [fidelityText(fidelity)] : []),
  ];
}

export function provenanceText(figure: Figure): string {
  const from = figure.result ? documentOf(figure.result).provenance : undefined;
  const seeds = from?.seeds ?? [];
  return [
    figure.basis,
    from?.engine && `engine ${from.engine} ${from.engine_version ?? ""}`.trim(),
    seeds.length === 1 && `seed ${seeds[0]}`,
    seeds.length > 1 && `seeds ${seeds.length > 4 ? `${seeds[0]} to ${seeds.at(-1)}` : seeds.join(", ")}`,
    ...(from ? hostTexts(from) : []),
    `paper ${figure.source}`,
    figure.result_run && `run ${figure.result_run}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** What the engine adds to a line. */
interface Line {
  deviation?: (number | null)[];
  /** The paper's own numbers: single points. */
  paper?: boolean;
}

/**
 * The lines of the chart; a rate over time holds until it changes, so it is drawn in steps. The paper's numbers are
 * open points beside them.
 */
export function linesOf(result: FigureResult): LineSeries[] {
  const steps = axesOf(result).x.startsWith("time");
  return result.series.map((series, at) => {
    const { deviation = [], paper = false } = series as Line;
    const points: { x: number; y: number }[] = [];
    const band: { x: number; low: number; high: number }[] = [];
    series.x.forEach((x, i) => {
      const y = series.y[i];
      if (x === null || y === null || y === undefined) return;
      points.push({ x, y });
      const by = deviation[i];
      if (by !== null && by !== undefined) band.push({ x, low: y - by, high: y + by });
    });
    return {
      id: `${at} ${series.name}`,
      label: series.name,
      points,
      ...(band.length > 1 && band.some((b) => b.high > b.low) && { band }),
      ...(paper ? { pointsOnly: true } : steps && { steps }),
    };
  });
}

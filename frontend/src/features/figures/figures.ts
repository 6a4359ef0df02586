/**
 * The results of figures prepared for the pages: verdicts, papers, numbers and lines; no drawing.
 */
import type { Figure, FigureResult, FigureSummary, PaperCount } from "@/api/types";
import type { LineSeries, Point } from "@/charts";
import { familyLooks } from "@/shared/plans/family-looks";
import { formatShort, plural } from "@/units";

export const VERDICTS = ["matches", "within band", "bound holds", "differs"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** As the page prints a verdict. */
export const VERDICT_TEXT: Record<Verdict, string> = {
  matches: "match",
  "within band": "within tolerance",
  "bound holds": "bound holds",
  differs: "differs",
};

export const isVerdict = (text: string): text is Verdict => (VERDICTS as readonly string[]).includes(text);

/** How many numbers have each verdict, or null for a figure that was never computed. */
export function verdictCounts(
  figure: Pick<Figure, "verdicts" | "result_from">,
): { verdict: Verdict; count: number }[] | null {
  if (figure.result_from === null) return null;
  return VERDICTS.map((verdict) => ({ verdict, count: figure.verdicts[verdict] ?? 0 }));
}

/** "11 match, 1 within tolerance". */
export function summaryText(figure: Pick<Figure, "verdicts" | "result_from">): string {
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
  if (verdict === "within band") return `${count} within tolerance`;
  if (verdict === "matches") return `${count} match`;
  if (verdict === "bound holds") return plural(count, "bound holds", "bounds hold");
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
  serverswitch: {
    name: "ServerSwitch",
    title: "A Programmable and High Performance Platform for Data Center Networks, 2011",
  },
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

export const paperName = (paper: string): string => PAPERS[paper]?.name ?? paper;

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

/** Such as "20 agree, 2 bounds hold, 3 differ with a reason, 4 absent; 5 figures not run". */
export function paperText(count: PaperCount): string {
  const rows = [
    count.agree > 0 && plural(count.agree, "agrees", "agree"),
    count.bound > 0 && countText("bound holds", count.bound),
    count.differ > 0 && `${plural(count.differ, "differs", "differ")} with a reason`,
    count.absent > 0 && `${count.absent} absent`,
  ].filter(Boolean);
  const rest = count.not_run > 0 && `${plural(count.not_run, "figure")} not run`;
  return [rows.join(", "), rest].filter(Boolean).join("; ");
}

type Maybe = number | null | undefined;

/** A number to `digits` significant digits, whole ones in full. */
export function valueText(value: Maybe, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const whole = value === 0 ? 1 : Math.floor(Math.log10(Math.abs(value))) + 1;
  return formatShort(value, Math.min(12, Math.max(0, digits - whole)));
}

/**
 * A paper's number with all its printed digits; a number computed from two printed ones has four
 * digits.
 */
export function printedText(value: Maybe): string {
  const printed = value !== null && value !== undefined && Number(value.toPrecision(6)) === value;
  return valueText(value, printed || Number.isInteger(value) ? 7 : 4);
}

/**
 * Edges keep more digits than values: a band of half a printed digit is narrower than one. A
 * thousandth of the band is enough.
 */
export function bandText(low: Maybe, high: Maybe): string {
  const without = (edge: Maybe): edge is null | undefined => edge === null || edge === undefined;
  if (without(low) && without(high)) return "–";
  if (low === high) return valueText(low, 7);
  // A bound of the paper's has one end.
  if (without(low)) return `at most ${valueText(high, 7)}`;
  if (without(high)) return `at least ${valueText(low, 7)}`;
  const decimals = Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(high - low))));
  return `${formatShort(low, decimals)} to ${formatShort(high, decimals)}`;
}

export const unitText = (unit: string): string =>
  unit.replace(/([a-z])2\b/g, "$1²").replace(/([a-z])3\b/g, "$1³");

/** Whether measured numbers are the network's or the machine's. */
export interface Fidelity {
  verdict: "faithful" | "host-limited" | "unknown";
  /** Older results name no cause. */
  cause?: string;
  reason: string;
}

interface Provenance {
  engine?: string;
  engine_version?: string;
  seeds?: number[];
  /** One of this number of equal parts of the paper's data was simulated. */
  parts?: number;
  /** For a measured figure, with the next field. */
  host?: { cpu: string; cores: number; kernel: string; load_before: number; load_after: number };
  fidelity?: Fidelity;
}

/** Figures can add fields to their document that the schema does not define. */
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
  "host-limited": "host-limited",
  unknown: "fidelity unknown",
};

export const reachesPrediction = ({ verdict, cause = "none" }: Fidelity): boolean =>
  verdict === "faithful" && cause === "none";

export const fidelityText = (fidelity: Fidelity): string =>
  fidelity.verdict === "faithful" && !reachesPrediction(fidelity)
    ? "faithful, below the prediction"
    : FIDELITY_TEXT[fidelity.verdict];

/** The machine on which the numbers were measured; empty for computed ones. */
function hostTexts({ host, fidelity }: Provenance): string[] {
  return [
    ...(host
      ? [
          `${host.cores} cores ${host.cpu}`,
          `kernel ${host.kernel}`,
          `load ${host.load_before.toFixed(1)} before, ${host.load_after.toFixed(1)} after`,
        ]
      : []),
    ...(fidelity ? [fidelityText(fidelity)] : []),
  ];
}

/** The origin of the shown result, and whether a run here gave the same. */
export function originText(figure: Pick<FigureSummary, "result_from" | "reference" | "agrees">): string {
  if (figure.result_from === null) return "";
  if (figure.result_from === "reference") {
    const { machine, engine_version } = figure.reference!;
    return machine
      ? `Measured on ${machine}`
      : `Reference result of engine ${engine_version}. Run it to check.`;
  }
  if (figure.agrees === null) return "Result of a run here";
  return figure.agrees
    ? "Computed here: the same numbers as the reference, to the last digit"
    : "Computed here: not the numbers of the reference";
}

export function provenanceText(figure: Figure): string {
  const from = figure.result ? documentOf(figure.result).provenance : undefined;
  const seeds = from?.seeds ?? [];
  return [
    figure.basis,
    from?.engine && `engine ${from.engine} ${from.engine_version ?? ""}`.trim(),
    seeds.length === 1 && `seed ${seeds[0]}`,
    from?.parts && (from.parts > 1 ? `1/${from.parts} of the data` : "the whole data"),
    seeds.length > 1 && `seeds ${seeds.length > 4 ? `${seeds[0]} to ${seeds.at(-1)}` : seeds.join(", ")}`,
    ...(from ? hostTexts(from) : []),
    `paper ${figure.source}`,
    figure.result_from === "reference" ? "reference result" : figure.result_run && `run ${figure.result_run}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Fields that the engine adds to a line. */
interface Line {
  deviation?: (number | null)[];
  /** The paper's own numbers: single points. */
  paper?: boolean;
}

/** Numbers of an axis: shares and ratios in per cent, as the other charts write them. */
export function axisFormat(
  label: string,
  values: readonly number[],
): ((value: number) => string) | undefined {
  const isShare = /\b(share|ratio)\b/.test(label) && values.every((value) => Math.abs(value) <= 1);
  return isShare ? (value) => `${formatShort(value * 100, 2)}\u00a0%` : undefined;
}

const PAPER = /^paper:\s*(the )?/i;

/**
 * Chooses the look of each line by its name. Values of the paper get the look of the matching line
 * of ours: "paper: BCube" and "paper: BCube is over" that of "BCube", "paper: type 2D" that of
 * "Type 2D, measured". Other lines have separate looks.
 */
export function looksOf(names: readonly string[]): number[] {
  const ours = names.filter((name) => !PAPER.test(name));
  const looks = familyLooks(ours);
  let free = Math.max(0, ...looks.map((look) => look + 1));
  return names.map((name) => {
    if (!PAPER.test(name)) return looks[ours.indexOf(name)]!;
    const title = name.replace(PAPER, "").toLowerCase();
    const of = ours
      .map((line, at) => ({ line: line.toLowerCase(), at }))
      .filter(({ line }) => title === line || title.startsWith(`${line} `) || line.startsWith(`${title},`))
      // If several lines start with the paper's name ("A, measured", "A, ideal fluid"), take the
      // first; otherwise the longest match.
      .sort((a, b) => Math.min(b.line.length, title.length) - Math.min(a.line.length, title.length))[0];
    return of ? looks[of.at]! : free++;
  });
}

/**
 * The lines of the chart; a rate over time is constant until it changes, so it is drawn in steps.
 * The paper's numbers are shown as open points.
 */
export function linesOf(result: FigureResult): LineSeries[] {
  const steps = axesOf(result).x.startsWith("time");
  const looks = looksOf(result.series.map(({ name }) => name));
  return result.series.map((series, at) => {
    const { deviation = [], paper = false } = series as Line;
    const points: Point[] = [];
    let gap = false;
    const band: { x: number; low: number; high: number }[] = [];
    series.x.forEach((x, i) => {
      const y = series.y[i];
      if (x === null || y === null || y === undefined) {
        gap = points.length > 0;
        return;
      }
      points.push(gap ? { x, y, gap } : { x, y });
      gap = false;
      const by = deviation[i];
      if (by !== null && by !== undefined) band.push({ x, low: y - by, high: y + by });
    });
    return {
      id: `${at} ${series.name}`,
      label: series.name,
      look: looks[at]!,
      points,
      ...(band.length > 1 && band.some((b) => b.high > b.low) && { band }),
      ...(paper ? { pointsOnly: true } : steps && { steps }),
    };
  });
}

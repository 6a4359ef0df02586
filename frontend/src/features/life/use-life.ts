/** A streamed simulation, from its start to its end or cancellation. */
import type { LifeQuestion } from "@/api/types";
import { type Answering, type AnswerStream, useAnswerStream } from "@/shared/answers/answer-stream";

export interface Band {
  p5: number[];
  median: number[];
  p95: number[];
}

export interface Curves {
  servers: Band;
  connected: Band;
  switches_down: Band;
  links_down: Band;
  abt_gbps?: Band & { exact_share: number[] };
}

export interface Below {
  floor: number;
  probability: number;
  months: { p5: number | null; median: number | null; p95: number | null };
  by_month: number[];
}

export interface LivedPolicy {
  title: string;
  curves: Curves;
  computed_abt: [month: number, gbps: number][];
  below: { servers: Below; abt: Below };
  visits: number;
  swaps: Record<string, number>;
  wanting: Record<string, number>;
  server_years: number;
  cost: { parts: number; work: number; visits: number; total: number; at_least: boolean };
  buys?: {
    server_years: number;
    servers: number;
    abt_gbps: number;
    cost: number;
    cost_per_server_year: number | null;
  };
}

export interface LivedRate {
  part: string;
  title: string;
  afr: number;
  count: number;
  basis: "published" | "assumed" | "set";
  confidence: string | null;
  date: string | null;
  source: string;
  note: string;
}

export interface LivedPlan {
  title: string;
  plan_hash: string;
  servers: number;
  switches: number;
  links: number;
  months: number[];
  policies: string[];
}

export interface LifeDocument extends Omit<LivedPlan, "policies"> {
  engine_version: string;
  book: { book: string; version: number; currency: string };
  years: number;
  seeds: number;
  first_seed: number;
  floors: { servers: number; abt: number };
  rates: LivedRate[];
  abt_gbps: number;
  throughput: {
    states: number;
    computed: number;
    interpolated: boolean;
    error_mean: number | null;
    error_max: number | null;
  };
  policies: LivedPolicy[];
}

export interface Progress {
  stage: "lives" | "throughput";
  done: number;
  of: number;
}

export interface LifeState extends Answering {
  progress: Progress | null;
  plan: LivedPlan | null;
  /** By policy, as they come: throughput is known at the end only. */
  curves: Curves[];
  document: LifeDocument | null;
}

export const EMPTY: LifeState = {
  state: "idle",
  progress: null,
  plan: null,
  curves: [],
  document: null,
  error: null,
  findings: [],
};

/** An answer that is known already, as if the simulation had just ended. */
export const answered = (document: LifeDocument): LifeState => ({
  ...EMPTY,
  state: "done",
  plan: { ...document, policies: document.policies.map(({ title }) => title) },
  curves: document.policies.map(({ curves }) => curves),
  document,
});

export const LIFE: AnswerStream<LifeState> = {
  address: "/api/v1/life",
  empty: EMPTY,
  after(state, { event, data }) {
    if (event === "plan") return { ...state, plan: data };
    if (event === "progress") return { ...state, progress: data };
    if (event === "servers") return { ...state, curves: [...state.curves, data.curves] };
    if (event === "result") return { ...state, state: "done", document: data };
    return state;
  },
  unfinished: "The server ended the simulation before its result. Simulate again.",
};

export const useLife = () => useAnswerStream<LifeQuestion, LifeState>(LIFE);

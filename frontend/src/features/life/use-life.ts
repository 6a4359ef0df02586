/** A simulation as it is streamed, from its start to its end or to Cancel. */
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError } from "@/api/client";
import { readEvents } from "@/api/events";
import type { Finding, LifeQuestion } from "@/api/types";

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

export interface LifeState {
  state: "idle" | "running" | "cancelled" | "done" | "failed";
  progress: Progress | null;
  plan: LivedPlan | null;
  /** By policy, as they come: throughput is known at the end only. */
  curves: Curves[];
  document: LifeDocument | null;
  error: unknown;
  findings: Finding[];
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

/** One simulation at a time: starting another or leaving the page cancels it. */
export function useLife() {
  const [state, setState] = useState<LifeState>(EMPTY);
  const running = useRef<AbortController | null>(null);
  const cancel = useCallback(() => {
    running.current?.abort();
    running.current = null;
    setState((before) => (before.state === "running" ? { ...before, state: "cancelled" } : before));
  }, []);
  const start = useCallback(async (question: LifeQuestion) => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setState({ ...EMPTY, state: "running" });
    try {
      for await (const events of readEvents("/api/v1/life", 0, own.signal, question)) {
        if (own.signal.aborted) return;
        const told = events.map(({ event, data }) => ({ event, data: JSON.parse(data) }));
        if (told.length > 0) setState((before) => told.reduce(after, before));
      }
      setState(ended);
    } catch (error) {
      if (own.signal.aborted) return;
      const findings = error instanceof ApiError ? error.findings : [];
      setState((before) => ({ ...before, state: "failed", error, findings }));
    }
  }, []);
  useEffect(() => () => running.current?.abort(), []);
  return { ...state, start, cancel };
}

// biome-ignore lint/suspicious/noExplicitAny: each kind of event has its own fields
export function after(state: LifeState, { event, data }: { event: string; data: any }): LifeState {
  if (event === "plan") return { ...state, plan: data };
  if (event === "progress") return { ...state, progress: data };
  if (event === "servers") return { ...state, curves: [...state.curves, data.curves] };
  if (event === "result") return { ...state, state: "done", document: data };
  if (event === "problem")
    return { ...state, state: "failed", error: new Error(data.detail), findings: data.findings };
  return state;
}

/** A stream that is over tells the result or the problem before; without either, the server has gone. */
export const ended = (state: LifeState): LifeState =>
  state.state === "running"
    ? {
        ...state,
        state: "failed",
        error: new Error("The server ended the simulation before its result. Simulate again."),
      }
    : state;

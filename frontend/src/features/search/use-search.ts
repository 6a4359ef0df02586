import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError } from "@/api/client";
import { readEvents } from "@/api/events";
import type { Finding, SearchQuestion } from "@/api/types";
import type { PlanSpec } from "../shared/spec";

export interface FoundPoint {
  number: number;
  title: string;
  family: string;
  spec: PlanSpec;
  values: Record<string, number>;
  meets: boolean;
  unharmed: boolean;
}

export interface SearchDocument {
  candidates: number;
  priced: number;
  feasible: number;
  evaluated: number;
  passed_over: number;
  unexplored: number;
  no_price: number;
  complete: boolean;
  engine_version: string;
  book: { book: string; version: number; currency: string };
  servers: { least: number; most: number };
  constraints: { metric: string; left_out: number; nearest: number | null }[];
  front: FoundPoint[];
  others: FoundPoint[];
}

export interface Progress {
  stage: "price" | "throughput";
  done: number;
  of: number;
}

export interface SearchState {
  state: "idle" | "running" | "cancelled" | "done" | "failed";
  progress: Progress | null;
  candidates: number;
  front: FoundPoint[];
  others: FoundPoint[];
  document: SearchDocument | null;
  error: unknown;
  findings: Finding[];
}

export const EMPTY: SearchState = {
  state: "idle",
  progress: null,
  candidates: 0,
  front: [],
  others: [],
  document: null,
  error: null,
  findings: [],
};

/** An answer that is known already, as if the search had just ended. */
export const answered = (document: SearchDocument): SearchState => ({
  ...EMPTY,
  state: "done",
  candidates: document.candidates,
  document,
  front: document.front,
  others: document.others,
});

/** One search at a time: starting another or leaving the page cancels it. */
export function useSearch() {
  const [state, setState] = useState<SearchState>(EMPTY);
  const running = useRef<AbortController | null>(null);
  const cancel = useCallback(() => {
    running.current?.abort();
    running.current = null;
    setState((before) => (before.state === "running" ? { ...before, state: "cancelled" } : before));
  }, []);
  const start = useCallback(async (question: SearchQuestion) => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setState({ ...EMPTY, state: "running" });
    try {
      for await (const events of readEvents("/api/v1/search", 0, own.signal, question)) {
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
export function after(state: SearchState, { event, data }: { event: string; data: any }): SearchState {
  if (event === "space") return { ...state, candidates: data.candidates };
  if (event === "progress") return { ...state, progress: data };
  if (event === "point") return withPoint(state, data);
  if (event === "result")
    return { ...state, state: "done", document: data, front: data.front, others: data.others };
  if (event === "problem")
    return { ...state, state: "failed", error: new Error(data.detail), findings: data.findings };
  return state;
}

/** A stream that is over tells the result or the problem before; without either, the server has gone. */
export const ended = (state: SearchState): SearchState =>
  state.state === "running"
    ? {
        ...state,
        state: "failed",
        error: new Error("The server ended the search before its result. Search again."),
      }
    : state;

export function withPoint(
  state: SearchState,
  data: { point: FoundPoint; on_front: boolean; replaces: number[] },
): SearchState {
  if (!data.on_front) return { ...state, others: [...state.others, data.point] };
  const replaced = state.front.filter(({ number }) => data.replaces.includes(number));
  const kept = state.front.filter(({ number }) => !data.replaces.includes(number));
  return { ...state, front: [...kept, data.point], others: [...state.others, ...replaced] };
}

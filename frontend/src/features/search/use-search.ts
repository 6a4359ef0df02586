/** A streamed search, from its start to its end or cancellation. */
import type { SearchQuestion } from "@/api/types";
import { type Answering, type AnswerStream, useAnswerStream } from "@/shared/answers/answer-stream";
import type { PlanSpec } from "@/shared/plans/spec";

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

export interface SearchState extends Answering {
  progress: Progress | null;
  candidates: number;
  front: FoundPoint[];
  others: FoundPoint[];
  document: SearchDocument | null;
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

export const SEARCH: AnswerStream<SearchState> = {
  address: "/api/v1/search",
  empty: EMPTY,
  after(state, { event, data }) {
    if (event === "space") return { ...state, candidates: data.candidates };
    if (event === "progress") return { ...state, progress: data };
    if (event === "point") return withPoint(state, data);
    if (event === "result")
      return { ...state, state: "done", document: data, front: data.front, others: data.others };
    return state;
  },
  unfinished: "The server ended the search before its result. Search again.",
};

export const useSearch = () => useAnswerStream<SearchQuestion, SearchState>(SEARCH);

export function withPoint(
  state: SearchState,
  data: { point: FoundPoint; on_front: boolean; replaces: number[] },
): SearchState {
  if (!data.on_front) return { ...state, others: [...state.others, data.point] };
  const replaced = state.front.filter(({ number }) => data.replaces.includes(number));
  const kept = state.front.filter(({ number }) => !data.replaces.includes(number));
  return { ...state, front: [...kept, data.point], others: [...state.others, ...replaced] };
}

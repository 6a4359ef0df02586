/** A question whose answer comes as a stream of events, from its start to its end or to Cancel. */
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiError } from "@/api/client";
import { readEvents } from "@/api/events";
import type { Finding } from "@/api/types";

/**
 * The fields that every answer has while it is streamed; each kind adds the data of its own events.
 */
export interface Answering {
  state: "idle" | "running" | "cancelled" | "done" | "failed";
  error: unknown;
  findings: Finding[];
}

export interface Received {
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: each kind of event has its own fields
  data: any;
}

export interface AnswerStream<State extends Answering> {
  address: string;
  /** Before the first question. */
  empty: State;
  /** The state after one of its own events; `problem` events are handled for all kinds. */
  after: (state: State, received: Received) => State;
  /** The message if the server disconnects before the end. */
  unfinished: string;
}

/**
 * One question at a time: another one, and leaving the page, cancels it. `stream` has to stay the
 * same object.
 */
export function useAnswerStream<Question, State extends Answering>(stream: AnswerStream<State>) {
  const [state, setState] = useState<State>(stream.empty);
  const running = useRef<AbortController | null>(null);
  const cancel = useCallback(() => {
    running.current?.abort();
    running.current = null;
    setState((before) => (before.state === "running" ? { ...before, state: "cancelled" } : before));
  }, []);
  const start = useCallback(
    async (question: Question) => {
      running.current?.abort();
      const own = new AbortController();
      running.current = own;
      setState({ ...stream.empty, state: "running" });
      try {
        for await (const events of readEvents(stream.address, 0, own.signal, question)) {
          if (own.signal.aborted) return;
          const received = events.map(({ event, data }) => ({ event, data: JSON.parse(data) }));
          if (received.length > 0)
            setState((before) => received.reduce((so, item) => afterEvent(stream, so, item), before));
        }
        setState((before) => ended(stream, before));
      } catch (error) {
        if (own.signal.aborted) return;
        const findings = error instanceof ApiError ? error.findings : [];
        setState((before) => ({ ...before, state: "failed", error, findings }));
      }
    },
    [stream],
  );
  useEffect(() => () => running.current?.abort(), []);
  return { ...state, start, cancel };
}

export function afterEvent<State extends Answering>(
  stream: AnswerStream<State>,
  state: State,
  received: Received,
): State {
  if (received.event !== "problem") return stream.after(state, received);
  return {
    ...state,
    state: "failed",
    error: new Error(received.data.detail),
    findings: received.data.findings,
  };
}

/**
 * A complete stream has sent the result or an error before its end; without either, the server has
 * disconnected.
 */
export function ended<State extends Answering>(stream: AnswerStream<State>, state: State): State {
  return state.state === "running"
    ? { ...state, state: "failed", error: new Error(stream.unfinished) }
    : state;
}

/**
 * The state of an experiment's form in addition to its draft: choices, estimate, errors, and
 * starting the run.
 */
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, useState } from "react";
import { api, take } from "@/api/client";
import { getIn, type Json, setIn } from "@/shared/plans/spec";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { type Command, useCommands } from "@/shared/shell/commands";
import { type Draft, plansOf } from "./draft";
import { engineOf } from "./engine";
import { useEstimate } from "./estimate";
import { fitAtOnce, type Taken } from "./fitting";
import { messagesOf } from "./messages";
import { usePlanChoices } from "./use-plans";
import { useRoutings } from "./use-routings";
import { useTaken } from "./use-taken";

/** Changes one field of the draft by its path. */
function useSet(draft: Draft, change: (draft: Draft) => void) {
  const latest = useRef(draft);
  latest.current = draft;
  return useCallback(
    (path: string, value: Json | undefined) => {
      const next = setIn(latest.current, path, value);
      // A workload without parameters is still a workload.
      change(getIn(next, "workload") ? next : ({ ...next, workload: { kind: "all-to-all" } } as Draft));
    },
    [change],
  );
}

/** Saves the draft as an experiment, starts a run of it and opens the run. */
function useStart(draft: Draft) {
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async () => {
      const made = await take(api.POST("/api/v1/experiments", { body: draft as never }));
      return take(api.POST("/api/v1/experiments/{id}/runs", { params: { path: { id: made.id } } }));
    },
    onSuccess: (run) => void navigate({ to: "/runs/$id", params: { id: run.id } }),
  });
}

function useRequests(draft: Draft) {
  const requests = useMemo<ScreenRequest[]>(
    () => [
      { title: "Save this experiment", method: "POST", path: "/api/v1/experiments", body: draft },
      { title: "Start a run of it", method: "POST", path: "/api/v1/experiments/{id}/runs" },
      {
        title: "Estimate its duration without saving",
        method: "POST",
        path: "/api/v1/experiments/estimate",
        body: draft,
      },
      { title: "Saved experiments", method: "GET", path: "/api/v1/experiments" },
    ],
    [draft],
  );
  useScreen(requests);
}

/** Running is a command only while the draft can be run. */
function useComposerCommands(blocked: boolean, run: () => void) {
  const navigate = useNavigate();
  const commands = useMemo<Command[]>(
    () => [
      ...(blocked
        ? []
        : [
            {
              id: "run-experiment",
              title: "Run this experiment",
              group: "Experiment",
              icon: "play" as const,
              keys: "mod+Enter",
              run,
            },
          ]),
      { id: "runs", title: "Go to the runs", group: "Pages", run: () => void navigate({ to: "/runs" }) },
    ],
    [blocked, run, navigate],
  );
  useCommands("experiments", commands);
}

export function useComposer(
  draft: Draft,
  change: (draft: Draft) => void,
  before: Taken | null,
  onTaken: (draft: Draft, taken: Taken) => void,
) {
  const { estimate, error, pending, retry } = useEstimate(draft);
  const messages = useMemo(() => messagesOf(error), [error]);
  const taken = useTaken(draft, before, onTaken, pending ? null : error);
  const { mutate, isPending: starting, error: problem } = useStart(draft);
  const run = useCallback(() => mutate(), [mutate]);
  const [unreadable, setUnreadable] = useState(0);
  const toCorrect = messages.size + unreadable;
  const blocked = toCorrect > 0 || starting;
  const set = useSet(draft, change);
  const choices = usePlanChoices();
  const routings = useRoutings(plansOf(draft));
  useRequests(draft);
  useComposerCommands(blocked, run);
  /**
   * A plan that is too large for the method that is chosen gives way at once, unless something
   * would be left out.
   */
  const changeAndFit = useCallback(
    (next: Draft) => {
      change(next);
      if (engineOf(draft) === "emulation" || engineOf(next) !== "emulation") return;
      fitAtOnce(next).then((result) => result && onTaken(result.draft, result.taken));
    },
    [draft, change, onTaken],
  );
  return {
    change: changeAndFit,
    taken,
    choices,
    routings,
    estimate,
    error,
    pending,
    retry,
    messages,
    set,
    run,
    starting,
    /** Why the run could not be started. */
    problem,
    setUnreadable,
    toCorrect,
    blocked,
  };
}

export type ComposerState = ReturnType<typeof useComposer>;

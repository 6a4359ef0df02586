/**
 * Opens the plan of the URL, and keeps URL and store consistent: saved id, packed spec, readable
 * topology, or the default.
 */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState } from "react";
import { pagePath } from "@/api/base";
import { api, take } from "@/api/client";
import { isPlanPath } from "@/shared/plans/last-plan";
import { addressSpec, decodeSpec, parseSpecText } from "@/shared/plans/share";
import { DEFAULT_SPEC, type PlanSpec } from "@/shared/plans/spec";
import type { PlanSearch } from "@/shared/plans/url-state";
import { isDirty, savedOf, usePlan } from "./store";
import { usePlanSearch } from "./use-plan-view";

const URL_QUIET_MS = 300;

export interface OpenState {
  ready: boolean;
  error: unknown;
  retry: () => void;
  /** The store was just saved as this plan: the URL that follows must not load it again. */
  adopt: (id: string) => void;
}

async function specOf(search: PlanSearch): Promise<PlanSpec | null> {
  if (search.spec) return decodeSpec(search.spec);
  if (search.topology) return parseSpecText(search.topology);
  return null;
}

export function useOpenPlan(): OpenState {
  const { id } = useParams({ strict: false }) as { id?: string };
  const [search] = usePlanSearch();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [state, setState] = useState<{ ready: boolean; error: unknown }>({ ready: false, error: null });
  const [attempt, setAttempt] = useState(0);
  const spec = usePlan((s) => s.history.present);
  const dirty = usePlan(isDirty);
  // The source this page last loaded or wrote itself; the same one again is no reason to load.
  const current = useRef<string | null>(null);
  const source = `${id ?? ""}|${search.revision ?? ""}|${search.spec ?? ""}|${search.topology ?? ""}`;

  // biome-ignore lint/correctness/useExhaustiveDependencies: `source` identifies the id and the search
  useEffect(() => {
    if (current.current === source) return;
    let stale = false;
    const load = async () => {
      const edited = await specOf(search);
      if (id === undefined) return { spec: edited ?? DEFAULT_SPEC, saved: null, edited: null };
      const plan = await client.fetchQuery({
        queryKey: ["plan", id, search.revision ?? null],
        queryFn: ({ signal }) =>
          take(
            api.GET("/api/v1/plans/{id}", {
              params: { path: { id }, query: { revision: search.revision } },
              signal,
            }),
          ),
        staleTime: 0,
      });
      return { spec: plan.spec as PlanSpec, saved: savedOf(plan), edited };
    };
    setState((old) => ({ ...old, error: null }));
    load().then(
      ({ spec: opened, saved, edited }) => {
        if (stale) return;
        const store = usePlan.getState();
        store.open(opened, saved);
        if (edited) store.replace(edited, "link");
        current.current = source;
        setState({ ready: true, error: null });
      },
      (error) => {
        if (!stale) setState({ ready: false, error });
      },
    );
    return () => {
      stale = true;
    };
  }, [source, attempt, client]);

  // Unsaved edits live in the URL, so that a reload or a copied address keeps them.
  const edited = usePlan((s) => s.history.past.length > 0 || s.history.future.length > 0);
  useEffect(() => {
    if (!state.ready || !edited) return;
    let stale = false;
    const timer = setTimeout(async () => {
      const code = dirty || id === undefined ? await addressSpec(spec) : undefined;
      if (stale || !isPlanPath(pagePath(location.pathname))) return;
      const next = `${id ?? ""}|${search.revision ?? ""}|${code ?? ""}|`;
      if (current.current === next) return;
      current.current = next;
      const to = id === undefined ? "/plans/new" : "/plans/$id";
      void navigate({
        to,
        params: { id: id ?? "" },
        search: (old: PlanSearch) => ({ ...old, spec: code, topology: undefined }),
        replace: true,
      });
    }, URL_QUIET_MS);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [spec, dirty, edited, id, state.ready, search.revision, navigate]);

  const adopt = useCallback((saved: string) => {
    current.current = `${saved}|||`;
  }, []);
  const retry = useCallback(() => setAttempt((n) => n + 1), []);
  return { ...state, retry, adopt };
}

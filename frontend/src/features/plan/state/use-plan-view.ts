/**
 * The plan page's view: selection, view kind, tab, all in the URL. The selection paints at once;
 * the URL follows.
 */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo } from "react";
import { create } from "zustand";
import type { PlanModel } from "@/scene/model";
import { highlightOf, type Selection } from "@/scene/selection";
import { nameSelection, resolveSelection } from "@/shared/plans/names";
import {
  type NamedSelection,
  type PlanSearch,
  readSelection,
  writeSelection,
} from "@/shared/plans/url-state";

/** Names, not numbers: a selection survives a replan that renumbers everything. */
export const useSelectionName = create<{ named: NamedSelection | null }>(() => ({ named: null }));

export function usePlanSearch(): [PlanSearch, (change: Partial<PlanSearch>) => void] {
  const search: PlanSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const set = useCallback(
    (change: Partial<PlanSearch>) =>
      void navigate({ to: ".", search: (old: PlanSearch) => ({ ...old, ...change }), replace: true }),
    [navigate],
  );
  return [search, set];
}

/** Keeps the URL's `sel` and the store equal; call once, in the page. */
export function useSelectionInUrl(): void {
  const [search, set] = usePlanSearch();
  const named = useSelectionName((state) => state.named);
  const text = writeSelection(named);
  // A link, Back or Forward changed the URL.
  useEffect(() => {
    if (search.sel !== writeSelection(useSelectionName.getState().named))
      useSelectionName.setState({ named: readSelection(search.sel) });
  }, [search.sel]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of the selection writes the URL
  useEffect(() => {
    if (search.sel === text) return;
    const timer = setTimeout(() => set({ sel: text }), 60);
    return () => clearTimeout(timer);
  }, [text, set]);
}

export function useSelection(model: PlanModel | null) {
  const named = useSelectionName((state) => state.named);
  const selection = useMemo(() => (model ? resolveSelection(model, named) : null), [model, named]);
  const highlight = useMemo(() => (model ? highlightOf(model, selection) : null), [model, selection]);
  const select = useCallback(
    (next: Selection) => useSelectionName.setState({ named: model ? nameSelection(model, next) : null }),
    [model],
  );
  return { selection, highlight, select };
}

/** Everything the plan page can do, by name and by key; and everything in the plan, by name. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { PlanModel } from "@/scene/model";
import type { Selection } from "@/scene/selection";
import { type Command, useCommands } from "@/shared/shell/commands";
import { usePlanSearch } from "../state/use-plan-view";
import { useOpenSpec } from "../state/use-plans";
import { longestCable } from "../totals/totals";
import { type Actions, editCommands, exampleCommands, exportCommands, planCommands } from "./plan-actions";
import { searchCommands } from "./search-commands";
import { viewCommands } from "./view-commands";

const PAGES = [
  { id: "catalog", to: "/catalog", title: "Go to the catalog" },
  { id: "search", to: "/search", title: "Search for plans" },
  { id: "life", to: "/life", title: "Simulate a container's life" },
  { id: "experiments", to: "/experiments", title: "Go to the experiments" },
  { id: "runs", to: "/runs", title: "Go to the runs" },
  { id: "figures", to: "/figures", title: "Go to the figures" },
  { id: "chip", to: "/chip", title: "Go to the switching chip" },
  { id: "api", to: "/api", title: "Go to the API reference" },
] as const;

export function usePlanCommands(
  model: PlanModel | null,
  select: (s: Selection) => void,
  actions: Actions,
): void {
  const [, setSearch] = usePlanSearch();
  const navigate = useNavigate();
  const openSpec = useOpenSpec();
  const { save, share, compare, predict, emulate, crew, asBuilt, fit, picture, exportAs, formats } = actions;

  const longest = useMemo(
    () => model && (() => select({ kind: "cable", ids: [longestCable(model)] })),
    [model, select],
  );
  const commands = useMemo<Command[]>(
    () => [
      ...editCommands(),
      ...planCommands({ save, share, compare, predict, emulate, crew, asBuilt }),
      ...viewCommands(setSearch, select, fit, longest),
      ...exportCommands({ picture, exportAs, formats }),
      ...exampleCommands(openSpec),
      ...PAGES.map(
        ({ id, to, title }): Command => ({ id, title, group: "Pages", run: () => void navigate({ to }) }),
      ),
    ],
    [
      save,
      share,
      compare,
      predict,
      emulate,
      crew,
      asBuilt,
      fit,
      picture,
      exportAs,
      formats,
      select,
      longest,
      setSearch,
      navigate,
      openSpec,
    ],
  );
  const search = useCallback(
    (query: string): Command[] => (model ? searchCommands(model, query, select) : []),
    [model, select],
  );
  useCommands("plan", commands, search);
}

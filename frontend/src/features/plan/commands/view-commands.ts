/** Commands that change what the plan page shows: selection, view, colours, links, tables. */
import type { Selection } from "@/scene/selection";
import { COLOUR_BY_TITLES } from "@/scene/view";
import { LINKS, type PlanSearch, TABS, VIEWS } from "@/shared/plans/url-state";
import type { Command } from "@/shared/shell/commands";

type SetSearch = (change: Partial<PlanSearch>) => void;

export function viewCommands(
  setSearch: SetSearch,
  select: (selection: Selection) => void,
  fit: () => void,
  /** Selects the cable with the longest route; null without a plan. */
  longest: (() => void) | null,
): Command[] {
  return [
    {
      id: "clear",
      title: "Clear the selection",
      group: "View",
      icon: "close",
      keys: "Escape",
      run: () => select(null),
    },
    { id: "fit", title: "Fit the drawing to the window", group: "View", icon: "fit", keys: "f", run: fit },
    ...(longest
      ? [{ id: "longest", title: "Select the longest cable", group: "View", keys: "l", run: longest }]
      : []),
    ...VIEWS.map(
      (view, at): Command => ({
        id: `view-${view}`,
        title: `View: ${view === "3d" ? "3D" : view}`,
        group: "View",
        keys: String(at + 1),
        run: () => setSearch({ view: view === "floor" ? undefined : view }),
      }),
    ),
    ...Object.entries(COLOUR_BY_TITLES).map(
      ([id, title]): Command => ({
        id: `colour-${id}`,
        title: `Colour by ${title.toLowerCase()}`,
        group: "View",
        run: () => setSearch({ color: id === "power" ? undefined : id }),
      }),
    ),
    ...LINKS.map(
      (links): Command => ({
        id: `links-${links}`,
        title: `Links: ${{ trunk: "trunks", sel: "of the selection", all: "all" }[links]}`,
        group: "View",
        run: () => setSearch({ links: links === "trunk" ? undefined : links }),
      }),
    ),
    ...TABS.map(
      (tab): Command => ({
        id: `tab-${tab}`,
        title: `Table: ${tab === "bom" ? "bill of materials" : tab}`,
        group: "View",
        run: () => setSearch({ tab: tab === "cables" ? undefined : tab }),
      }),
    ),
  ];
}

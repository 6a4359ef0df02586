import { useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { ExportFormat } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import type { Selection } from "@/scene/selection";
import { COLOUR_BY_TITLES } from "@/scene/view";
import { cableName, parseCableName } from "@/units";
import { type Command, useCommands } from "../shared/commands";
import { EXAMPLES } from "../shared/examples";
import { deviceIndex, placeName } from "../shared/names";
import { LINKS, TABS, VIEWS } from "../shared/url-state";
import { usePlan } from "./store";
import { usePlanSearch } from "./use-plan-view";
import { useOpenSpec } from "./use-plans";

const FOUND = 12;

interface Actions {
  save: () => Promise<void>;
  share: () => Promise<void>;
  compare: () => Promise<void>;
  predict: () => Promise<void>;
  emulate: () => Promise<void>;
  fit: () => void;
  /** Saves the picture on screen, all of it. */
  picture: (kind: "svg" | "png") => Promise<void>;
  exportAs: (format: ExportFormat) => void;
  formats: ExportFormat[] | undefined;
}

/** Everything the plan page can do, by name and by key; and everything in the plan, by name. */
export function usePlanCommands(
  model: PlanModel | null,
  select: (s: Selection) => void,
  actions: Actions,
): void {
  const [, setSearch] = usePlanSearch();
  const navigate = useNavigate();
  const openSpec = useOpenSpec();
  const { save, share, compare, predict, emulate, fit, picture, exportAs, formats } = actions;

  const commands = useMemo<Command[]>(() => {
    const plan = usePlan.getState();
    return [
      { id: "undo", title: "Undo", group: "Edit", icon: "undo", keys: "mod+z", run: plan.undo },
      { id: "redo", title: "Redo", group: "Edit", icon: "redo", keys: "mod+shift+z mod+y", run: plan.redo },
      {
        id: "save",
        title: "Save a revision",
        group: "Plan",
        icon: "save",
        keys: "mod+s",
        run: () => void save(),
      },
      {
        id: "share",
        title: "Copy a link to this view",
        group: "Plan",
        icon: "share",
        run: () => void share(),
      },
      {
        id: "compare",
        title: "Compare this plan with others",
        group: "Plan",
        icon: "compare",
        run: () => void compare(),
      },
      {
        id: "predict",
        title: "Predict this plan",
        group: "Plan",
        icon: "play",
        hint: "throughput and what is left under failures",
        run: () => void predict(),
      },
      {
        id: "emulate",
        title: "Run it with real packets",
        group: "Plan",
        icon: "pulse",
        hint: "servers as containers or namespaces, faults while traffic flows",
        run: () => void emulate(),
      },
      {
        id: "print",
        title: "Print",
        group: "Plan",
        icon: "print",
        keys: "mod+p",
        local: true,
        run: () => window.print(),
      },
      {
        id: "clear",
        title: "Clear the selection",
        group: "View",
        icon: "close",
        keys: "Escape",
        run: () => select(null),
      },
      { id: "fit", title: "Fit the drawing to the window", group: "View", icon: "fit", keys: "f", run: fit },
      {
        id: "svg",
        title: "Save the drawing as SVG",
        group: "Export",
        icon: "export",
        run: () => void picture("svg"),
      },
      {
        id: "png",
        title: "Save the drawing as PNG",
        group: "Export",
        icon: "export",
        run: () => void picture("png"),
      },
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
      ...(formats ?? []).map(
        (format): Command => ({
          id: `export-${format.name}`,
          title: `Export ${format.title}`,
          group: "Export",
          icon: "export",
          run: () => exportAs(format),
        }),
      ),
      ...EXAMPLES.map(
        (example): Command => ({
          id: `example-${example.slug}`,
          title: `Open example: ${example.title}`,
          group: "Plan",
          run: () => void openSpec(example.spec),
        }),
      ),
      {
        id: "catalog",
        title: "Go to the catalog",
        group: "Pages",
        run: () => void navigate({ to: "/catalog" }),
      },
      {
        id: "experiments",
        title: "Go to the experiments",
        group: "Pages",
        run: () => void navigate({ to: "/experiments" }),
      },
      {
        id: "runs",
        title: "Go to the runs",
        group: "Pages",
        run: () => void navigate({ to: "/runs" }),
      },
      {
        id: "figures",
        title: "Go to the figures",
        group: "Pages",
        run: () => void navigate({ to: "/figures" }),
      },
      {
        id: "api",
        title: "Go to the API reference",
        group: "Pages",
        run: () => void navigate({ to: "/api" }),
      },
    ];
  }, [
    save,
    share,
    compare,
    predict,
    emulate,
    fit,
    picture,
    exportAs,
    formats,
    select,
    setSearch,
    navigate,
    openSpec,
  ]);

  const search = useCallback(
    (query: string): Command[] => {
      if (!model) return [];
      const found: Command[] = [];
      const wanted = query.toLowerCase();
      const cable = parseCableName(query.toUpperCase());
      if (cable !== null && cable < model.cables.count)
        found.push({
          id: `cable-${cable}`,
          title: `Cable ${cableName(cable)}`,
          group: "Cable",
          run: () => select({ kind: "cable", ids: [cable] }),
        });
      model.racks.names.forEach((name, rack) => {
        if (found.length < FOUND && name.toLowerCase().startsWith(wanted))
          found.push({
            id: `rack-${name}`,
            title: `Rack ${name}`,
            group: "Rack",
            run: () => select({ kind: "rack", ids: [rack] }),
          });
      });
      const exact = deviceIndex(model).get(query);
      const devices = exact === undefined ? [] : [exact];
      for (let d = 0; d < model.devices.count && devices.length < FOUND; d++)
        if (d !== exact && model.devices.names[d]!.toLowerCase().startsWith(wanted)) devices.push(d);
      for (const device of devices)
        found.push({
          id: `device-${device}`,
          title: `${model.devices.kind[device] === 1 ? "Switch" : "Server"} ${model.devices.names[device]}`,
          hint: placeName(model, device),
          group: "Device",
          run: () => select({ kind: "device", ids: [device] }),
        });
      return found.slice(0, 2 * FOUND);
    },
    [model, select],
  );
  useCommands("plan", commands, search);
}

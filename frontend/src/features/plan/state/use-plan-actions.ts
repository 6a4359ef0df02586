/** Actions on the plan on screen: share, compare, run experiments, save as a picture. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useRef } from "react";
import { serverPath } from "@/api/base";
import type { PlanCanvasHandle } from "@/render/plan-canvas";
import { linkSpec, SAVE_FIRST } from "@/shared/plans/share";
import { copyText } from "@/ui/clipboard";
import { toast } from "@/ui/toast";
import { saveFile } from "@/units/save-file";
import { isDirty, usePlan } from "./store";

/**
 * The open notes of a saved plan for a link; null if there are none, or the server does not answer.
 */
async function copiedNotes({ id, revision }: { id: string; revision: number }): Promise<string | null> {
  try {
    const [{ readNotes }, { packNotes }] = await Promise.all([
      import("@/shared/notes/use-notes"),
      import("../notes/link-notes"),
    ]);
    return await packNotes(await readNotes({ plan: id, revision }));
  } catch {
    return null;
  }
}

/**
 * How other pages name the plan on screen: its id if it is saved, else its spec; null for one that
 * must be saved first.
 */
async function planRef(): Promise<string | null> {
  const state = usePlan.getState();
  if (state.saved && !isDirty(state)) return state.saved.id;
  const code = await linkSpec(state.history.present);
  if (code === null) toast(SAVE_FIRST, "error");
  return code && `z.${code}`;
}

/**
 * `hash`: the first digits of the plan's, for names of files and provenance. The drawing attaches
 * to `canvas`.
 */
export function usePlanActions(hash: string | undefined) {
  const canvas = useRef<PlanCanvasHandle | null>(null);
  const navigate = useNavigate();
  const share = useCallback(async () => {
    const url = new URL(location.href);
    const { saved, history } = usePlan.getState();
    if (!saved || isDirty(usePlan.getState())) {
      // A link that needs no database: the spec itself.
      url.pathname = serverPath("/plans/new");
      url.searchParams.delete("revision");
      url.searchParams.delete("topology");
      const code = await linkSpec(history.present);
      if (code === null) return toast(SAVE_FIRST, "error");
      url.searchParams.set("spec", code);
      // Such a link does not refer to a saved plan, and notes belong to saved plans.
      const notes = saved && (await copiedNotes(saved));
      if (notes) url.searchParams.set("notes", notes);
    }
    toast(
      (await copyText(url.href)) ? "Link to this view copied" : "The browser blocked access to the clipboard",
    );
  }, []);
  const compare = useCallback(async () => {
    const self = await planRef();
    if (self === null) return;
    const family = String(usePlan.getState().history.present.topology.family);
    const others = ["ex.dcell", "ex.fat-tree", "ex.tree"].filter(
      (ref) => !ref.includes(family.replace("_", "-")),
    );
    await navigate({ to: "/compare", search: { plans: [self, ...others].join(",") } });
  }, [navigate]);
  const ask = useCallback(
    async (engine?: "emulation") => {
      const plan = await planRef();
      if (plan !== null) await navigate({ to: "/experiments", search: { plan, engine } });
    },
    [navigate],
  );
  const predict = useCallback(() => ask(), [ask]);
  const emulate = useCallback(() => ask("emulation"), [ask]);
  const below = useCallback(
    async (to: "/plans/$id/crew" | "/plans/$id/as-built", name: string) => {
      const state = usePlan.getState();
      if (state.saved && isDirty(state))
        toast(`${name} shows saved revision ${state.saved.revision}, without your unsaved changes`);
      await navigate({
        to,
        params: { id: state.saved?.id ?? "new" },
        search: { revision: state.saved?.revision },
      });
    },
    [navigate],
  );
  const crew = useCallback(() => below("/plans/$id/crew", "Crew mode"), [below]);
  const asBuilt = useCallback(() => below("/plans/$id/as-built", "As built"), [below]);
  const fit = useCallback(() => canvas.current?.fit(), []);
  const picture = useCallback(
    async (kind: "svg" | "png") => {
      const drawing = canvas.current;
      if (!drawing) return;
      const content = kind === "png" ? await drawing.toPngBlob(2) : drawing.toSvg(`plan ${hash}, modelled`);
      saveFile(content, `plan-${hash}.${kind}`, "image/svg+xml");
    },
    [hash],
  );
  return { canvas, share, compare, predict, emulate, crew, asBuilt, fit, picture };
}

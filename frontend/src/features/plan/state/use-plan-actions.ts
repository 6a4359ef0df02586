/** What is done with the plan on screen: passed on, compared, asked about, saved as a picture. */
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useRef } from "react";
import type { PlanCanvasHandle } from "@/render/plan-canvas";
import { copyText, saveFile } from "@/ui/clipboard";
import { toast } from "@/ui/toast";
import { encodeSpec } from "../../shared/share";
import { isDirty, usePlan } from "./store";

/** The open notes of a saved plan for a link; null if there are none, or the server does not answer. */
async function copiedNotes({ id, revision }: { id: string; revision: number }): Promise<string | null> {
  try {
    const [{ readNotes }, { packNotes }] = await Promise.all([
      import("../../shared/notes/use-notes"),
      import("../notes/link-notes"),
    ]);
    return await packNotes(await readNotes({ plan: id, revision }));
  } catch {
    return null;
  }
}

/** `hash`: the first digits of the plan's, for names of files and provenance. `canvas` is for the drawing to take. */
export function usePlanActions(hash: string | undefined) {
  const canvas = useRef<PlanCanvasHandle | null>(null);
  const navigate = useNavigate();
  const share = useCallback(async () => {
    const url = new URL(location.href);
    const { saved, history } = usePlan.getState();
    if (!saved || isDirty(usePlan.getState())) {
      // A link that needs no database: the spec itself.
      url.pathname = "/plans/new";
      url.searchParams.delete("revision");
      url.searchParams.delete("topology");
      url.searchParams.set("spec", await encodeSpec(history.present));
      // Such a link leads to no saved plan, which is what notes are kept with.
      const notes = saved && (await copiedNotes(saved));
      if (notes) url.searchParams.set("notes", notes);
    }
    toast(
      (await copyText(url.href)) ? "Link to this view copied" : "The browser blocked access to the clipboard",
    );
  }, []);
  const compare = useCallback(async () => {
    const state = usePlan.getState();
    const self =
      state.saved && !isDirty(state) ? state.saved.id : `z.${await encodeSpec(state.history.present)}`;
    const others = ["ex.dcell", "ex.fat-tree", "ex.tree"].filter(
      (ref) => !ref.includes(String(state.history.present.topology.family).replace("_", "-")),
    );
    await navigate({ to: "/compare", search: { plans: [self, ...others].join(",") } });
  }, [navigate]);
  const ask = useCallback(
    async (engine?: "emulation") => {
      const state = usePlan.getState();
      const plan =
        state.saved && !isDirty(state) ? state.saved.id : `z.${await encodeSpec(state.history.present)}`;
      await navigate({ to: "/experiments", search: { plan, engine } });
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
      const blob =
        kind === "png"
          ? await drawing.toPngBlob(2)
          : new Blob([drawing.toSvg(`plan ${hash}, modelled`)], { type: "image/svg+xml" });
      saveFile(blob, `plan-${hash}.${kind}`);
    },
    [hash],
  );
  return { canvas, share, compare, predict, emulate, crew, asBuilt, fit, picture };
}

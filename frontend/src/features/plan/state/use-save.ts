/** Saving, renaming, reverting and deleting the open plan. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useState } from "react";
import { ApiError, api, take } from "@/api/client";
import type { Plan, Summary } from "@/api/types";
import type { PlanSearch } from "@/shared/plans/url-state";
import { toast } from "@/ui/toast";
import { pinOf, savedOf, UNTITLED, usePlan } from "./store";

function say(error: unknown) {
  if (error instanceof ApiError && (error.status === 409 || error.status === 412))
    toast(
      "Someone else saved a newer revision. Reload to see it. The address of this page keeps your edits.",
      "error",
    );
  else toast(error instanceof Error ? error.message : String(error), "error");
}

/** Makes a plan that the server has saved the open plan, at its address. */
function useSettle(adopt: (id: string) => void) {
  const navigate = useNavigate();
  const client = useQueryClient();
  return useCallback(
    async (plan: Plan) => {
      adopt(plan.id);
      usePlan.getState().markSaved(plan);
      client.setQueryData(["plan", plan.id, null], plan);
      await Promise.all([
        client.invalidateQueries({ queryKey: ["plans"] }),
        client.invalidateQueries({ queryKey: ["revisions", plan.id] }),
        navigate({
          to: "/plans/$id",
          params: { id: plan.id },
          search: ({ spec: _, topology: __, revision: ___, ...view }: PlanSearch) => view,
          replace: true,
        }),
      ]);
    },
    [adopt, client, navigate],
  );
}
type Settle = ReturnType<typeof useSettle>;

/** Renames the saved plan, or the draft. */
function useRename() {
  const client = useQueryClient();
  return useCallback(
    async (name: string) => {
      const { saved } = usePlan.getState();
      if (!saved) {
        usePlan.getState().rename(name);
        return;
      }
      try {
        const plan = await take(
          api.PATCH("/api/v1/plans/{id}", { params: { path: { id: saved.id } }, body: { name, note: "" } }),
        );
        usePlan.setState({
          saved: {
            ...savedOf(plan),
            spec: saved.spec,
            summary: saved.summary,
            bookVersion: saved.bookVersion,
          },
        });
        await client.invalidateQueries({ queryKey: ["plans"] });
      } catch (error) {
        say(error);
      }
    },
    [client],
  );
}

/** Saves an earlier revision as the newest. */
function useRevert(settle: Settle) {
  return useCallback(
    async (revision: number) => {
      const { saved } = usePlan.getState();
      if (!saved) return;
      try {
        const plan = await take(
          api.POST("/api/v1/plans/{id}/revert", {
            params: { path: { id: saved.id } },
            body: { revision, base_revision: saved.headRevision },
          }),
        );
        // The reverted content is one more planning edit: Ctrl-Z undoes it on the page.
        usePlan.getState().replace(savedOf(plan).spec, "revert");
        await settle(plan);
      } catch (error) {
        say(error);
      }
    },
    [settle],
  );
}

/** Deletes the plan with all its revisions, after a question. */
function useRemove() {
  const navigate = useNavigate();
  const client = useQueryClient();
  return useCallback(async () => {
    const { saved } = usePlan.getState();
    if (!saved || !window.confirm(`Delete “${saved.name}” with all its revisions? This cannot be undone.`))
      return;
    try {
      await take(api.DELETE("/api/v1/plans/{id}", { params: { path: { id: saved.id } } }));
      await client.invalidateQueries({ queryKey: ["plans"] });
      toast(`Deleted ${saved.name}`);
      await navigate({ to: "/" });
    } catch (error) {
      say(error);
    }
  }, [client, navigate]);
}

export function useSave(summary: Summary | undefined, adopt: (id: string) => void) {
  const [saving, setSaving] = useState(false);
  const settle = useSettle(adopt);
  const save = useCallback(async () => {
    const { saved, history, draftName } = usePlan.getState();
    const pin = pinOf(usePlan.getState());
    const spec = history.present;
    setSaving(true);
    try {
      const name = draftName === UNTITLED ? (summary?.title ?? UNTITLED) : draftName;
      const plan = saved
        ? await take(
            api.PATCH("/api/v1/plans/{id}", {
              params: { path: { id: saved.id } },
              body: { spec, base_revision: saved.headRevision, catalog_version: pin ?? "latest", note: "" },
            }),
          )
        : await take(api.POST("/api/v1/plans", { body: { name, spec, note: "" } }));
      await settle(plan);
      toast(`Saved ${plan.name}, revision ${plan.revision}`);
    } catch (error) {
      say(error);
    } finally {
      setSaving(false);
    }
  }, [settle, summary?.title]);

  return { saving, save, rename: useRename(), revert: useRevert(settle), remove: useRemove() };
}

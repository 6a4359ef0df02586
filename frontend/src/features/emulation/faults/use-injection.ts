/** The call that a draft becomes, its predicted impact, and injecting it. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { api, take } from "@/api/client";
import { useGuide } from "@/shared/shell/guide/guide-state";
import { useSettled } from "@/ui/use-settled";
import type { Item, Network } from "../session/network";
import { type BreakDraft, liveFaultOf } from "./break-draft";

const QUIET_MS = 250;

export interface InjectionProps {
  runId: string;
  network: Network;
  draft: BreakDraft;
  onDraft: (draft: BreakDraft) => void;
  /** The workload is running. */
  enabled: boolean;
  /** Receives the targets of the fault, to mark them in the picture. */
  onTargets: (targets: readonly Item[]) => void;
}

export function useInjection({ runId, network, draft, onDraft, enabled, onTargets }: InjectionProps) {
  const [sent, setSent] = useState(0);
  const request = useMemo(() => liveFaultOf(network, draft), [network, draft]);
  const settled = useSettled(request, QUIET_MS);
  const preview = useQuery({
    queryKey: ["blast", runId, JSON.stringify(settled), sent],
    enabled: enabled && settled !== null,
    queryFn: ({ signal }) =>
      take(
        api.POST("/api/v1/runs/{id}/faults/preview", {
          params: { path: { id: runId } },
          body: settled!,
          signal,
        }),
      ),
    staleTime: 2000,
    retry: false,
  });
  const inject = useMutation({
    mutationFn: () =>
      take(api.POST("/api/v1/runs/{id}/faults", { params: { path: { id: runId } }, body: request! })),
    onSuccess: () => {
      useGuide.getState().reach("pull");
      setSent((count) => count + 1);
      onDraft({ ...draft, target: null, words: "" });
    },
  });
  const current = settled === request ? preview.data : undefined;
  useEffect(() => {
    const targets = (current?.targets ?? []).flatMap(({ name }) => network.byName.get(name) ?? []);
    onTargets(targets.length > 0 ? targets : draft.target ? [draft.target] : []);
  }, [current, network, draft.target, onTargets]);

  const error = inject.error ?? (settled === request ? preview.error : null);
  return { request, preview: current, refused: preview.isError, inject, error };
}

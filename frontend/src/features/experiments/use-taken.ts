/**
 * Chooses a part of the draft's plan for an emulation: offered if the draft is rejected, and
 * repeated for another size.
 */
import { useMutation, useQuery } from "@tanstack/react-query";
import { ApiError } from "@/api/client";
import { canonical } from "@/shared/plans/spec";
import { toast } from "@/ui/toast";
import type { Draft } from "./draft";
import { engineOf } from "./engine";
import { beforeTaken, draftTaken, type Fitted, fitOf, isOf, type Taken } from "./fitting";

export function useTaken(
  draft: Draft,
  taken: Taken | null,
  onTaken: (draft: Draft, taken: Taken) => void,
  /** Why the draft is refused, once it has settled. */
  refused: unknown,
) {
  const emulated = engineOf(draft) === "emulation";
  const current = taken && isOf(draft, taken) ? taken : null;
  const { data: offer = null, isFetching } = useQuery({
    queryKey: ["emulation-fit", canonical(draft)],
    enabled: emulated && refused instanceof ApiError && refused.status === 422,
    queryFn: ({ signal }) => fitOf(draft, undefined, signal),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const accept = (fitted: Fitted, before: Draft) => {
    const next = draftTaken(fitted);
    if (next) onTaken(next, { before, fitted });
  };
  const another = useMutation({
    mutationFn: async (servers: number) => {
      const before = current ? beforeTaken(draft, current) : draft;
      return { before, fitted: await fitOf(before, servers) };
    },
    onSuccess: ({ before, fitted }) => accept(fitted, before),
    onError: (error) => toast(error.message, "error"),
  });
  return {
    current,
    /** The offer for a draft that was rejected. */
    offer: refused && offer?.kind !== "whole" ? offer : null,
    looking: isFetching,
    accept: () => offer && accept(offer, draft),
    another: another.mutate,
    changing: another.isPending,
    /** The draft of the whole plan. */
    whole: () => (current ? beforeTaken(draft, current) : draft),
  };
}

export type TakenState = ReturnType<typeof useTaken>;

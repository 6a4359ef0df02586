/** Inject mode: the fault that is being prepared, and its targets. It ends with the run. */
import { useCallback, useEffect, useState } from "react";
import type { Item } from "../session/network";
import { type BreakDraft, noBreak } from "./break-draft";

export interface Injecting {
  on: boolean;
  turn: (on: boolean) => void;
  draft: BreakDraft;
  setDraft: (change: BreakDraft | ((before: BreakDraft) => BreakDraft)) => void;
  targets: readonly Item[];
  setTargets: (targets: readonly Item[]) => void;
}

export function useInjecting(over: boolean, onTurnedOn: () => void): Injecting {
  const [on, setOn] = useState(false);
  const [draft, setDraft] = useState<BreakDraft>(noBreak);
  const [targets, setTargets] = useState<readonly Item[]>([]);
  const turn = useCallback(
    (next: boolean) => {
      setOn(next);
      if (next) return onTurnedOn();
      setDraft(noBreak());
      setTargets([]);
    },
    [onTurnedOn],
  );
  // A run that has ended accepts no faults.
  useEffect(() => {
    if (over) turn(false);
  }, [over, turn]);
  return { on, turn, draft, setDraft, targets, setTargets };
}

/**
 * One crosshair a page: charts over the same quantity (time, failure ratio) show the same place of
 * it.
 */
import { useCallback } from "react";
import { create } from "zustand";

const useStore = create<{ axis: string; at: number | null }>(() => ({ axis: "", at: null }));

/** The position of the crosshair on the named axis, for a chart's `at` and `onAt`. */
export function useCrosshair(axis: string): { at: number | null; onAt: (at: number | null) => void } {
  const at = useStore((state) => (state.axis === axis ? state.at : null));
  const onAt = useCallback((next: number | null) => useStore.setState({ axis, at: next }), [axis]);
  return { at, onAt };
}

import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import type { RunSearch } from "@/shared/runs/run-url";

/** Changes a part of the run page's address, which holds the whole view. */
export function useRunSearch() {
  const navigate = useNavigate();
  return useCallback(
    (change: Partial<RunSearch>) =>
      void navigate({
        from: "/runs/$id",
        to: ".",
        search: (old) => ({ ...old, ...change }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
}

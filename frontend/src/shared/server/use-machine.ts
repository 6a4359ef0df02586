/** The capabilities of this machine, or of its hosts, for emulations. */
import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";

export const useMachine = () =>
  useQuery({
    queryKey: ["emulation"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/emulation", { signal })),
    staleTime: 10_000,
  });

/** The routes of a switch that is a router, read every second while the run lasts. */
import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import { type Item, type Network, nodeName } from "../session/network";
import { InspectionSections } from "./inspection-sections";

const REFETCH_MS = 1000;

export function SwitchRoutes({
  run,
  network,
  node,
  onSelect,
}: {
  run: string;
  network: Network;
  node: number;
  onSelect: (item: Item) => void;
}) {
  const name = nodeName(network, node);
  const { data } = useQuery({
    queryKey: ["switch", run, name],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/runs/{id}/switches/{name}", { params: { path: { id: run, name } }, signal })),
    // A bridge has no routes, and never gets any.
    refetchInterval: ({ state }) => (state.data?.sections.length === 0 ? false : REFETCH_MS),
    retry: false,
  });
  if (!data) return null;
  return (
    <div data-testid="routes-of-switch">
      <InspectionSections
        inspection={{ counts: {}, sections: data.sections }}
        network={network}
        onSelect={onSelect}
      />
    </div>
  );
}

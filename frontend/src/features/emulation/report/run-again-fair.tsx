/**
 * Runs an experiment again with a queue for each flow, where TCP gave the slowest less than its
 * share.
 */
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, take } from "@/api/client";
import { ProblemView } from "@/shared/server/problem";
import { Button } from "@/ui/button";

type Body = { emulation?: Record<string, unknown> };

export function RunAgainFair({ experiment }: { experiment: string }) {
  const navigate = useNavigate();
  const again = useMutation({
    mutationFn: async () => {
      const path = { id: experiment };
      const scenario = { params: { path }, parseAs: "text" } as const;
      const text = (await take(api.GET("/api/v1/experiments/{id}/scenario", scenario))) as unknown as string;
      const body: Body = await take(api.POST("/api/v1/scenarios/read", { body: { text } }));
      const fair = { ...body, emulation: { ...body.emulation, queues: "fair" } };
      const { id } = await take(api.POST("/api/v1/experiments", { body: fair as never }));
      return take(api.POST("/api/v1/experiments/{id}/runs", { params: { path: { id } } }));
    },
    onSuccess: ({ id }) => void navigate({ to: "/runs/$id", params: { id } }),
  });
  return (
    <>
      <Button icon="play" disabled={again.isPending} onClick={() => again.mutate()}>
        Run again with fair queues
      </Button>
      {again.error && <ProblemView error={again.error} />}
    </>
  );
}

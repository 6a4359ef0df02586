/**
 * Packet captures of a link or a port: begun here while the run lasts, kept with the run as pcapng
 * files.
 */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import { downloadFrom } from "@/shared/server/download";
import { Button, IconButton } from "@/ui/button";
import { Skeleton } from "@/ui/marks";
import { toast } from "@/ui/toast";
import { formatBytes, plural } from "@/units";
import styles from "./captures.module.css";

const LivePackets = lazy(() => import("./live-packets"));

type Capture = components["schemas"]["Capture"];
const LIMITS = { max_bytes: 4 * 2 ** 20, max_secs: 10, packet_bytes: 65_535 };

type Target = { link: string } | { server: string; port: number };

const REFETCH_MS = 500;

/** `name` is the target as the server names it; `live` whether the run can still be captured. */
export function Captures({ target, name, live }: { target: Target; name: string; live: boolean }) {
  const { id } = useParams({ strict: false });
  const [watching, setWatching] = useState(false);
  const client = useQueryClient();
  const queryKey = ["captures", id];
  const list = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/runs/{id}/captures", { params: { path: { id: id! } }, signal })),
    enabled: id !== undefined,
    refetchInterval: ({ state }) =>
      state.data?.items.some((item) => item.state === "running") ? REFETCH_MS : false,
  });
  const failed = (error: unknown) => toast(error instanceof Error ? error.message : String(error), "error");
  const start = useMutation({
    mutationFn: () =>
      take(
        api.POST("/api/v1/runs/{id}/captures", {
          params: { path: { id: id! } },
          body: { ...LIMITS, ...target },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey }),
    onError: failed,
  });
  const remove = useMutation({
    mutationFn: (capture: string) =>
      take(api.DELETE("/api/v1/runs/{id}/captures/{capture}", { params: { path: { id: id!, capture } } })),
    onSuccess: () => client.invalidateQueries({ queryKey }),
    onError: failed,
  });
  const own = list.data?.items.filter((item) => item.target === name) ?? [];
  const running = own.some((item) => item.state === "running");
  return (
    <>
      {live && (
        <div className={styles.buttons}>
          <Button
            small
            icon="export"
            disabled={running || start.isPending}
            title={`Up to ${LIMITS.max_secs} s and ${formatBytes(LIMITS.max_bytes)}, as a pcapng file for Wireshark or tcpdump. TCP packets can be larger than the MTU (segmentation offload).`}
            onClick={() => start.mutate()}
          >
            {running ? "Capturing…" : "Capture packets"}
          </Button>
          <Button
            small
            icon="play"
            disabled={watching}
            title="Count and show packets while they flow, or send them to Wireshark"
            onClick={() => setWatching(true)}
          >
            Watch live
          </Button>
        </div>
      )}
      {live && watching && (
        <Suspense fallback={<Skeleton height={260} />}>
          <LivePackets target={target} name={name} onClose={() => setWatching(false)} />
        </Suspense>
      )}
      {own.length > 0 && (
        <ul className={styles.captures} aria-label={`Captures of ${name}`}>
          {own.map((item) => (
            <li key={item.id}>
              <span className="muted plain">{captureText(item)}</span>
              {item.state === "done" && (
                <Button
                  small
                  icon="export"
                  onClick={() =>
                    void downloadFrom(`/api/v1/runs/${id}/captures/${item.id}/file`, `${item.id}.pcapng`)
                  }
                >
                  Download
                </Button>
              )}
              {item.state !== "running" && (
                <IconButton
                  small
                  icon="close"
                  label="Delete this capture"
                  onClick={() => remove.mutate(item.id)}
                />
              )}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

export function captureText(capture: Capture): string {
  if (capture.state === "running") return "capturing…";
  if (capture.state === "failed") return `failed: ${capture.reason}`;
  const missed = capture.missed ? `, ${plural(capture.missed, "packet")} missed` : "";
  return `${plural(capture.packets ?? 0, "packet")}, ${formatBytes(capture.size_bytes ?? 0)}${missed}${endText(capture)}`;
}

function endText({ end, max_bytes, max_secs }: Capture): string {
  if (end === null) return ""; // older captures
  return {
    bytes: `; ended at the limit of ${formatBytes(max_bytes)}`,
    secs: `; ended at the limit of ${max_secs} s`,
    "interface-down": "; ended as the link went down, its server was turned off, or the run ended",
    "caller-gone": "; ended because it was not read",
  }[end];
}

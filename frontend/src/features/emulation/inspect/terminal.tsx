/** A terminal in a server of a live run: opened by a button, closed by one, with the reason where there is none. */
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useRef, useState } from "react";
import { api, take } from "@/api/client";
import { Button } from "@/ui/button";
import { Section } from "@/ui/form";
import { Skeleton } from "@/ui/marks";
import { formatNumber } from "@/units";
import shared from "../common.module.css";
import { problemText } from "../faults/break-draft";
import styles from "./terminal.module.css";
import { CONNECTING, statusText, type TerminalStatus } from "./terminal-talk";

const Screen = lazy(() => import("./terminal-screen"));

const REFETCH_MS = 3000;

export default function ServerTerminal({ run, name }: { run: string; name: string }) {
  /** Each opening is a shell of its own; 0 before the first one. */
  const [opening, setOpening] = useState(0);
  const [status, setStatus] = useState<TerminalStatus>(CONNECTING);
  const close = useRef<HTMLButtonElement>(null);
  const ended = opening > 0 && status.state === "ended";
  const { data, error } = useQuery({
    queryKey: ["terminal", run, name],
    queryFn: ({ signal }) =>
      take(
        api.GET("/api/v1/runs/{id}/servers/{name}/terminal", { params: { path: { id: run, name } }, signal }),
      ),
    enabled: opening === 0 || ended,
    refetchInterval: REFETCH_MS,
    retry: false,
  });
  const open = () => {
    setStatus(CONNECTING);
    setOpening(opening + 1);
  };
  const refused = error ? problemText(error) : data && !data.available ? data.reason : null;
  return (
    <Section title="Terminal in this server">
      {(opening === 0 || ended) && (
        <div className={styles.row}>
          <Button small disabled={!data?.available || error !== null} onClick={open}>
            {ended ? "Open again" : "Open a terminal"}
          </Button>
          {refused !== null && (
            <p className={shared.muted} role="status">
              {refused}
            </p>
          )}
        </div>
      )}
      {opening > 0 && (
        <div className={styles.terminal}>
          <div className={styles.row}>
            <p role="status" data-state={status.state}>
              {statusText(status)}
            </p>
            <Button
              small
              icon="close"
              onClick={() => setOpening(0)}
              title={ended ? undefined : "Ends the shell and what it has started"}
              ref={close}
            >
              Close the terminal
            </Button>
          </div>
          <Suspense fallback={<Skeleton height={260} />}>
            <Screen
              key={opening}
              path={`/api/v1/runs/${encodeURIComponent(run)}/servers/${encodeURIComponent(name)}/terminal`}
              label={`Shell of server ${name}`}
              onStatus={setStatus}
              onLeave={() => close.current?.focus()}
            />
          </Suspense>
          <p className={shared.muted}>
            Ctrl+Shift+Escape or Shift+Tab leaves the terminal. The shell has the rights of the server's
            container. It ends when you close it, select something else, leave the page
            {data ? `, or type nothing for ${formatNumber(data.idle_secs / 60)} min` : ""}.
          </p>
        </div>
      )}
    </Section>
  );
}

/**
 * A server's terminal in the inspector: opens one in the dock, or leads to the one that is open
 * there.
 */
import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import { Button } from "@/ui/button";
import { Section } from "@/ui/form";
import { problemText } from "../faults/break-draft";
import styles from "./terminal.module.css";
import { statusText } from "./terminal-talk";
import { useTerminals } from "./terminals";

const REFETCH_MS = 3000;

/** Whether a shell can be started in a server now, and how long one may be idle. */
export const useTerminalOffer = (run: string, name: string, enabled: boolean) =>
  useQuery({
    queryKey: ["terminal", run, name],
    queryFn: ({ signal }) =>
      take(
        api.GET("/api/v1/runs/{id}/servers/{name}/terminal", { params: { path: { id: run, name } }, signal }),
      ),
    enabled,
    refetchInterval: REFETCH_MS,
    retry: false,
  });

export default function ServerTerminal({ run, name }: { run: string; name: string }) {
  const terminals = useTerminals();
  const open = terminals.run === run ? terminals.open.find((item) => item.name === name) : undefined;
  const { data, error } = useTerminalOffer(run, name, open === undefined);
  const refused = error ? problemText(error) : data && !data.available ? data.reason : null;
  return (
    <Section title="Terminal in this server">
      <div className={styles.row}>
        {open ? (
          <>
            <Button small onClick={() => terminals.show(name)} disabled={terminals.shown === name}>
              Show the terminal
            </Button>
            <p className="muted plain">Open below the picture. {statusText(open.status)}</p>
          </>
        ) : (
          <>
            <Button
              small
              disabled={!data?.available || error !== null}
              onClick={() => terminals.start(run, name)}
            >
              Open a terminal
            </Button>
            {refused !== null && (
              <p className="muted plain" role="status">
                {refused}
              </p>
            )}
          </>
        )}
      </div>
    </Section>
  );
}

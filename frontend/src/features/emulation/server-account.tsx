/** A server's own account, asked of it every second: its neighbour table, its path cache, what it was told and dropped. */
import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import { Section } from "@/ui/form";
import { Skeleton } from "@/ui/marks";
import { formatBitsPerSec, formatBytes, formatCount, formatShort, plural } from "@/units";
import { problemText } from "./break-draft";
import styles from "./emulation.module.css";
import { type Item, type Network, nodeName } from "./network";
import { secsText } from "./series";
import side from "./side.module.css";

const ASK_MS = 1000;

export function ServerAccount({
  run,
  network,
  row,
  onSelect,
}: {
  run: string;
  network: Network;
  row: number;
  onSelect: (item: Item) => void;
}) {
  const name = nodeName(network, row);
  const asked = useQuery({
    queryKey: ["server", run, name],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/runs/{id}/servers/{name}", { params: { path: { id: run, name } }, signal })),
    refetchInterval: ASK_MS,
    retry: false,
  });
  const { data } = asked;
  // One that is frozen or dead does not answer: what it said before is of no use.
  if (asked.error)
    return (
      <p className={side.silent} role="status">
        {problemText(asked.error)}
      </p>
    );
  if (!data) return <Skeleton height={160} />;
  const named = (server: string) => {
    const item = network.byName.get(server);
    return item ? (
      <button type="button" className={side.link} onClick={() => onSelect(item)}>
        {server}
      </button>
    ) : (
      server
    );
  };
  return (
    <div data-testid="account">
      <Section title="Neighbour table">
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Server</th>
              <th scope="col">Port</th>
              <th scope="col">State</th>
              <th scope="col" className={styles.number}>
                Last heard
              </th>
            </tr>
          </thead>
          <tbody>
            {data.neighbours.map(({ server, port, up, silent_secs }) => (
              <tr key={`${port} ${server}`}>
                <td>{named(server)}</td>
                <td>{port}</td>
                <td data-tone={up ? "good" : "bad"}>{up ? "alive" : "dead"}</td>
                <td className={styles.number}>
                  {silent_secs === null ? "never" : `${secsText(silent_secs)} ago`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      <Section title={`Path cache of ${plural(data.flows.length, "flow")}`}>
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">To</th>
              <th scope="col">Ways, the one it takes in bold</th>
              <th scope="col" className={styles.number}>
                Moves
              </th>
            </tr>
          </thead>
          <tbody>
            {data.flows.map(({ flow, destination, paths, switches, source_port, destination_port }) => (
              <tr key={`${destination} ${source_port} ${destination_port}`}>
                <td>
                  {flow === null ? (
                    `answers ${destination}`
                  ) : (
                    <button
                      type="button"
                      className={side.link}
                      onClick={() => onSelect({ kind: "flow", row: flow })}
                    >
                      {destination}
                    </button>
                  )}
                </td>
                <td>
                  {paths.map((path) => (
                    <div key={path.servers.join(" ")} className={path.used ? side.used : undefined}>
                      {path.servers.join(" · ")}
                      {path.available_bits_per_sec !== null && (
                        <span className={styles.muted}>
                          {" "}
                          {formatBitsPerSec(path.available_bits_per_sec)} free
                        </span>
                      )}
                    </div>
                  ))}
                </td>
                <td className={styles.number}>{formatCount(switches)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      <Section title="Told and dropped">
        <dl className={side.plainFacts}>
          <dt>Links it was told are down</dt>
          <dd>
            {data.failed_links.length === 0
              ? "none"
              : data.failed_links
                  .map(
                    ({ servers, expires_in_secs }) =>
                      `${servers.join("–")} (forgotten in ${formatShort(expires_in_secs, 0)} s)`,
                  )
                  .join(", ")}
          </dd>
          <dt>Dropped</dt>
          <dd>{countsText(data.drops)}</dd>
          <dt>Refused of others</dt>
          <dd>{countsText(data.refused)}</dd>
          <dt>Sent and relayed in all</dt>
          <dd>{`${formatBytes(data.own_bytes)}, ${formatBytes(data.relayed_bytes)}`}</dd>
        </dl>
      </Section>
    </div>
  );
}

/** "no path 3, too big 1", or none. */
function countsText(counts: Record<string, number>): string {
  const some = Object.entries(counts).filter(([, count]) => count > 0);
  if (some.length === 0) return "none";
  return some.map(([reason, count]) => `${reason.replaceAll("_", " ")} ${formatCount(count)}`).join(", ");
}

/** A server's own report, polled every second during the run. */
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { api, take } from "@/api/client";
import { CopyButton } from "@/ui/clipboard";
import { Section } from "@/ui/form";
import { Skeleton } from "@/ui/marks";
import { problemText } from "../faults/break-draft";
import { type Item, type Network, nodeName } from "../session/network";
import type { Session } from "../session/session";
import captures from "./captures.module.css";
import { InspectionSections } from "./inspection-sections";
import styles from "./server-account.module.css";

const ChipProgram = lazy(() => import("./chip-program"));
const ServerChip = lazy(() => import("./server-chip"));
const Services = lazy(() => import("./services"));

const REFETCH_MS = 1000;
/** The section of the services' counters, which is shown next to the messages to them. */
const SERVICES = "services";
/** The sections of a chip that takes calls: in user space, and in the kernel. */
const CHIP = ["chip-entries", "chip-tcam"];

export function ServerAccount({
  run,
  session,
  network,
  row,
  at,
  onSelect,
}: {
  run: string;
  session: Session;
  network: Network;
  row: number;
  at: number;
  onSelect: (item: Item) => void;
}) {
  const name = nodeName(network, row);
  const { data, error } = useQuery({
    queryKey: ["server", run, name],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/runs/{id}/servers/{name}", { params: { path: { id: run, name } }, signal })),
    refetchInterval: REFETCH_MS,
    retry: false,
  });
  // A frozen or dead server does not answer; its last answer is out of date.
  if (error)
    return (
      <p className={styles.silent} role="status">
        {problemText(error)}
      </p>
    );
  if (!data) return <Skeleton height={160} />;
  const counters = data.sections.find((section) => section.name === SERVICES);
  const sections = data.sections.filter((section) => section !== counters);
  return (
    <div data-testid="account">
      <Section title="Shell in this server">
        <div className={captures.shell}>
          <code>{data.shell}</code>
          <CopyButton text={data.shell}>Copy</CopyButton>
        </div>
      </Section>
      {counters && (
        <Suspense fallback={<Skeleton height={160} />}>
          <Services {...{ run, session, network, row, at, counters, onSelect }} />
        </Suspense>
      )}
      {network.frame.programmable && (
        <Suspense>
          <ChipProgram run={run} />
        </Suspense>
      )}
      {data.sections.some((section) => CHIP.includes(section.name)) && (
        <Suspense>
          <ServerChip run={run} server={name} />
        </Suspense>
      )}
      <InspectionSections inspection={{ ...data, sections }} network={network} onSelect={onSelect} />
    </div>
  );
}

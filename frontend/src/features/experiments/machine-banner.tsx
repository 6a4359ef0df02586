/**
 * The capabilities that this machine, or the hosts of a distributed run, have and lack, with the
 * reason and the fix.
 */
import type { components } from "@/api/schema";
import { Button } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { formatBytes, plural } from "@/units";
import styles from "./emulation-section.module.css";

type Machine = components["schemas"]["Machine"];

const NEEDS = {
  namespaces: "run servers as namespaces",
  containers: "run servers as containers",
  images: "run images of users",
};

export function MachineBanner({
  machine,
  mode,
  withImages,
  onMode,
}: {
  machine: Machine;
  mode: string;
  /** Whether the experiment has images of users. */
  withImages: boolean;
  onMode: (mode: string) => void;
}) {
  const usable = machine.modes.some((item) => item === mode);
  const { hosts, workers } = machine;
  const need = mode !== "containers" ? "namespaces" : withImages ? "images" : "containers";
  const who = hosts.length > 0 ? plural(hosts.length, "host") : "This machine";
  const lacking = machine.capabilities.filter(({ available }) => !available);
  return (
    <div className={styles.banner} data-ready={usable || undefined} data-testid="machine">
      <p>
        <Icon name={usable ? "check" : "warning"} size={14} />
        {usable
          ? `${hosts.length > 1 ? `${who} run` : `${who} runs`} up to ${plural(machine.max_servers, "server")}: ${plural(machine.cores, "core")}, ${formatBytes(machine.memory_free_bytes)} free.`
          : machine.ready
            ? `${who} cannot run servers as ${mode}.`
            : `${who} cannot run emulations yet.`}
      </p>
      {usable && workers?.[need] === 0 && (
        <p role="status">
          <Icon name="warning" size={14} />
          {`No worker can ${NEEDS[need]} now. Runs wait until one can.`}
        </p>
      )}
      {hosts.length > 0 && <HostList hosts={hosts} />}
      {!usable && machine.modes[0] && (
        <Button small icon="wand" onClick={() => onMode(machine.modes[0]!)}>
          {`Run them as ${machine.modes[0]}`}
        </Button>
      )}
      {lacking.length > 0 && (
        <details open={!usable}>
          <summary>{`${plural(lacking.length, "part")} missing${lacking.some(({ needed }) => needed) ? "" : ", all optional"}`}</summary>
          <ul>
            {lacking.map(({ name, title, reason, fix, needed }) => (
              <li key={name}>
                <strong>{title}</strong>
                {needed ? " (needed). " : ". "}
                {reason} {fix && <em>{fix}</em>}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

/** The machines that runs are spread over, each with what it has or lacks. */
function HostList({ hosts }: { hosts: Machine["hosts"] }) {
  return (
    <ul data-testid="hosts">
      {hosts.map(({ name, ready, reason, cores, memory_free_bytes, docker_reason, underlay_mtu }) => (
        <li key={name}>
          <strong>{name}</strong>
          {ready
            ? `: ${plural(cores, "core")}, ${formatBytes(memory_free_bytes)} free. ${docker_reason}`
            : ` is not ready: ${reason}`}
          {ready && underlay_mtu !== null && ` Packets between hosts can have ${underlay_mtu} bytes.`}
        </li>
      ))}
    </ul>
  );
}

/** What this machine lacks, with the reason and what to do about it. */
import type { components } from "@/api/schema";
import { Icon } from "@/ui/icon";
import { formatBytes, plural } from "@/units";
import styles from "./emulation-section.module.css";

type Machine = components["schemas"]["Machine"];

export function MachineBanner({ machine, mode }: { machine: Machine; mode: string }) {
  const usable = machine.modes.some((one) => one === mode);
  const lacking = machine.capabilities.filter(({ available }) => !available);
  return (
    <div className={styles.banner} data-ready={usable || undefined} data-testid="machine">
      <p>
        <Icon name={usable ? "check" : "warning"} size={14} />
        {usable
          ? `This machine runs up to ${plural(machine.max_servers, "server")}: ${plural(machine.cores, "core")}, ${formatBytes(machine.memory_free_bytes)} free.`
          : machine.ready
            ? `This machine cannot run servers as ${mode}.`
            : "This machine cannot send real packets yet."}
      </p>
      {lacking.length > 0 && (
        <details open={!usable}>
          <summary>{`${plural(lacking.length, "thing")} not there`}</summary>
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

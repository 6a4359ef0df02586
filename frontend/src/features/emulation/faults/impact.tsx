/** The predicted effect of a fault: its targets, the flows without a path, ABT and goodput. */
import type { components } from "@/api/schema";
import { formatBitsPerSec, formatPercent, formatShare, plural } from "@/units";
import type { Network } from "../session/network";
import styles from "./impact.module.css";

export function Impact({
  network,
  enabled,
  chosen,
  preview,
  failed,
}: {
  network: Network;
  /** Faults can be injected now. */
  enabled: boolean;
  /** There is a target. */
  chosen: boolean;
  preview: components["schemas"]["BlastRadius"] | undefined;
  /** The server rejected the preview; the reason is shown below. */
  failed: boolean;
}) {
  // As everywhere in the run: headers are not goodput.
  const withoutHeaders = (bitsPerSec: number) =>
    formatBitsPerSec(bitsPerSec * network.frame.header_efficiency);
  return (
    <div className={styles.blast} role="status" data-testid="blast">
      {!enabled ? (
        "You can inject faults while traffic flows."
      ) : !chosen ? (
        "No target selected. Click a server, a switch or a link, or type its name."
      ) : preview ? (
        <>
          <p>
            Affects <strong>{plural(preview.targets.length, "item")}</strong>
            {`: ${preview.targets
              .slice(0, 6)
              .map(({ name }) => name)
              .join(", ")}${preview.targets.length > 6 ? " …" : ""}`}
          </p>
          <p>
            {preview.lost_flows > 0
              ? `${formatShare(preview.lost_flows, preview.flows)} flows lose every path`
              : "Every flow keeps a path"}
          </p>
          <p>
            Predicted ABT {withoutHeaders(preview.abt_before_bits_per_sec)} →{" "}
            <strong>{withoutHeaders(preview.abt_bits_per_sec)}</strong>
            {preview.abt_before_bits_per_sec > 0 &&
              ` (${formatPercent(preview.abt_bits_per_sec / preview.abt_before_bits_per_sec)})`}
          </p>
          <p>
            Goodput {withoutHeaders(preview.goodput_before_bits_per_sec)} →{" "}
            <strong>{withoutHeaders(preview.goodput_bits_per_sec)}</strong>
          </p>
        </>
      ) : failed ? null : (
        "Computing the impact…"
      )}
    </div>
  );
}

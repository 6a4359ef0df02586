import type { ChipTrace } from "@/api/types";
import { plural } from "@/units";
import styles from "./chip-trace.module.css";
import { PipelineView } from "./pipeline-view";
import { Bytes, StepsView } from "./steps-view";

const sentTitle = ({ port, cpu, copy, packet }: ChipTrace["sent"][number]) =>
  `${copy ? "Copy" : "Packet"} out of port ${port} (${cpu ? "CPU" : "external"}), ${packet.length / 2} bytes`;

/**
 * A packet's path through a chip: the pipeline, the steps, the packets that left, and the entries
 * that it matched.
 */
export function TraceView({ trace }: { trace: ChipTrace | null }) {
  return (
    <div className={styles.trace}>
      <PipelineView trace={trace} />
      {trace && (
        <>
          <h2>Steps</h2>
          <StepsView trace={trace} />
          {trace.sent.map((sent, index) => (
            <Bytes key={index} title={sentTitle(sent)} hex={sent.packet} changed={[]} />
          ))}
          {trace.hits.length > 0 && (
            <>
              <h2>Hits</h2>
              <ul className={styles.hits}>
                {trace.hits.map((hit) => (
                  <li key={`${hit.table} ${hit.i}`}>
                    <code>
                      {hit.table}[{hit.i}]
                    </code>{" "}
                    {plural(hit.packets, "packet")}
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </div>
  );
}

/** A server's own report: counters, and sections of columns and rows that any protocol can fill. */
import type { ReactNode } from "react";
import { ColumnHeads } from "@/ui/column-heads";
import { Section } from "@/ui/form";
import { formatBitsPerSec, formatCount, plural } from "@/units";
import shared from "../common.module.css";
import { type CellKind, cellText, type FlowValue, type PathValue, serverName } from "../session/cells";
import type { Item, Network } from "../session/network";
import common from "./common.module.css";
import styles from "./inspection-sections.module.css";
import { Facts } from "./inspector-parts";

export interface Inspection {
  counts: Record<string, number>;
  sections: InspectionSection[];
}

export interface InspectionSection {
  name: string;
  title: string;
  columns: { name: string; title: string; kind: CellKind }[];
  rows: unknown[][];
  /** Rows that the server did not send. */
  omitted: number;
}

interface Context {
  network: Network;
  onSelect: (item: Item) => void;
}

export function InspectionSections({ inspection, ...context }: Context & { inspection: Inspection }) {
  const counts = Object.entries(inspection.counts);
  return (
    <>
      {counts.length > 0 && (
        <Facts rows={counts.map(([name, count]) => [titleOf(name), formatCount(count)])} />
      )}
      {inspection.sections.map((section) => (
        <Section
          key={section.name}
          title={`${section.title} (${formatCount(section.rows.length + section.omitted)})`}
        >
          <SectionTable section={section} {...context} />
        </Section>
      ))}
    </>
  );
}

/** "drops-no-path" or "own_bytes" as words. */
const titleOf = (name: string) =>
  name.replaceAll(/[-_]/g, " ").replace(/^./, (letter) => letter.toUpperCase());

function SectionTable({ section, ...context }: Context & { section: InspectionSection }) {
  if (section.rows.length === 0) return <p className="muted plain">None</p>;
  return (
    <div className={styles.scroll}>
      <table className={shared.table}>
        <ColumnHeads
          columns={[
            ...section.columns.map(({ title, kind }) => ({
              title,
              className: isNumber(kind) ? shared.number : undefined,
            })),
          ]}
        />
        <tbody>
          {section.rows.map((row, at) => (
            <tr key={at}>
              {section.columns.map(({ name, kind }, column) => (
                <td
                  key={name}
                  className={name === BYTES ? styles.value : isNumber(kind) ? shared.number : undefined}
                >
                  <InspectionCell kind={kind} value={row[column]} {...context} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {section.omitted > 0 && <p className="muted plain">{plural(section.omitted, "more row")} not shown</p>}
    </div>
  );
}

/** The column of a table's values, in hexadecimal digits byte by byte. */
const BYTES = "match";

const isNumber = (kind: CellKind) => kind === "count" || kind === "bits-per-sec" || kind === "secs";

function InspectionCell({
  kind,
  value,
  ...context
}: Context & { kind: CellKind; value: unknown }): ReactNode {
  const { network } = context;
  if (value === null || value === undefined) return "–";
  if (kind === "server") return <ItemLink name={serverName(network, value)} {...context} />;
  if (kind === "servers" && Array.isArray(value))
    return value.map((id, at) => (
      <span key={at}>
        {at > 0 && " · "}
        <ItemLink name={serverName(network, id)} {...context} />
      </span>
    ));
  if (kind === "paths" && Array.isArray(value))
    return (value as PathValue[]).map((path) => (
      <div key={path.servers.join(" ")} className={path.used ? styles.used : undefined}>
        {cellText(network, "servers", path.servers)}
        {path.available_bits_per_sec != null && (
          <span className="muted plain"> {formatBitsPerSec(path.available_bits_per_sec)} free</span>
        )}
      </div>
    ));
  if (kind === "flow") {
    const flow = value as FlowValue & { flow?: number | null };
    if (flow.flow == null) return cellText(network, kind, value);
    const row = flow.flow;
    return (
      <button type="button" className={common.link} onClick={() => context.onSelect({ kind: "flow", row })}>
        {`${flow.src} → ${flow.dst}`}
      </button>
    );
  }
  return cellText(network, kind, value);
}

function ItemLink({ name, network, onSelect }: Context & { name: string }) {
  const item = network.byName.get(name);
  if (!item) return name;
  return (
    <button type="button" className={common.link} onClick={() => onSelect(item)}>
      {name}
    </button>
  );
}

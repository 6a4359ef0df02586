import { useMemo, useState } from "react";
import type { Part } from "@/api/types";
import { type Column, DataTable } from "@/ui/data-table";
import { Select, TextInput } from "@/ui/form";
import { BasisBadge, Skeletons } from "@/ui/marks";
import type { SortBy } from "@/ui/table-order";
import { formatShare, formatWatts } from "@/units";
import styles from "./catalog-page.module.css";
import type { CatalogSearch } from "./search";
import { priceText, sourceOf, weightText } from "./values";

const KINDS = [
  "switch",
  "nic",
  "server",
  "cable",
  "transceiver",
  "rack",
  "container",
  "room",
  "tray",
  "shelf",
  "rail",
  "pdu",
  "cord",
  "tie",
  "label",
  "labour",
] as const;
const KIND_TITLES: Record<string, string> = {
  nic: "NICs",
  switch: "Switches",
  shelf: "Shelves",
  pdu: "PDUs",
  cord: "Power cords",
  tie: "Cable ties",
  labour: "Labour",
  label: "Labels",
};
const kindTitle = (kind: string) => KIND_TITLES[kind] ?? `${kind[0]!.toUpperCase()}${kind.slice(1)}s`;

const NO_PARTS: Part[] = [];

/** The parts of a book's version, by kind and words. */
export function PartsTable({
  parts: known,
  currency,
  search,
  onSearch,
}: {
  /** Absent while they load. */
  parts: Part[] | undefined;
  /** The book's currency, as an ISO 4217 code. */
  currency: string;
  search: CatalogSearch;
  onSearch: (change: CatalogSearch) => void;
}) {
  const [sort, setSort] = useState<SortBy | null>(null);
  const parts = known ?? NO_PARTS;
  const columns = useMemo(() => columnsOf(parts, currency), [parts, currency]);
  const rows = useMemo(() => {
    const words = (search.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    return parts.flatMap((part, at) => {
      if (search.kind && part.kind !== search.kind) return [];
      const text = `${part.sku} ${part.name} ${part.manufacturer} ${part.kind}`.toLowerCase();
      return words.every((word) => text.includes(word)) ? [at] : [];
    });
  }, [parts, search.kind, search.q]);
  const kinds = KINDS.filter((kind) => parts.some((part) => part.kind === kind));
  return (
    <section className={styles.parts} aria-label="Parts">
      <div className={styles.bar}>
        <Select
          aria-label="Kind of part"
          width={140}
          value={search.kind ?? ""}
          options={[
            { value: "", label: "All kinds" },
            ...kinds.map((kind) => ({ value: kind, label: kindTitle(kind) })),
          ]}
          onChange={(kind) => onSearch({ kind: kind || undefined })}
        />
        <TextInput
          type="search"
          aria-label="Filter parts"
          placeholder="Filter parts"
          className={styles.filter}
          value={search.q ?? ""}
          onChange={(event) => onSearch({ q: event.target.value || undefined })}
        />
        <span className="muted">{formatShare(rows.length, parts.length)} parts</span>
      </div>
      {known ? (
        <DataTable
          label={`Parts, ${formatShare(rows.length, parts.length)}`}
          columns={columns}
          rows={rows}
          sort={sort}
          onSort={setSort}
          isSelected={(row) => parts[row]?.sku === search.part}
          onActivate={(row) => onSearch({ part: parts[row]?.sku })}
          empty="No matching parts."
        />
      ) : (
        <Skeletons count={12} height={20} inset />
      )}
    </section>
  );
}

function columnsOf(parts: Part[], currency: string): Column[] {
  const part = (row: number) => parts[row]!;
  const basis = (row: number) =>
    part(row).price_usd === null ? "" : (sourceOf(part(row), "price_usd")?.basis ?? "");
  return [
    { id: "kind", title: "Kind", width: 72, text: (row) => part(row).kind },
    { id: "sku", title: "SKU", width: 140, mono: true, text: (row) => part(row).sku },
    { id: "name", title: "Part", width: 220, text: (row) => part(row).name },
    {
      id: "price",
      title: "Price",
      width: 90,
      align: "end",
      text: (row) => priceText(part(row), currency),
      sort: (row) => part(row).price_usd ?? null,
    },
    {
      id: "power",
      title: "Power",
      width: 80,
      align: "end",
      text: (row) => formatWatts(part(row).power_watts),
      sort: (row) => part(row).power_watts ?? null,
    },
    {
      id: "weight",
      title: "Weight",
      width: 80,
      align: "end",
      text: (row) => weightText(part(row).weight_kg),
      sort: (row) => part(row).weight_kg ?? null,
    },
    {
      id: "basis",
      title: "Price basis",
      width: 100,
      text: basis,
      render: (row) => basis(row) && <BasisBadge basis={basis(row)} />,
    },
  ];
}

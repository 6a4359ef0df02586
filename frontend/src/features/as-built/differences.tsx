import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { AsBuilt, AsBuiltDifference, AsBuiltEnd, Plan } from "@/api/types";
import { Button } from "@/ui/button";
import { type Column, DataTable } from "@/ui/data-table";
import type { SortBy } from "@/ui/table-order";
import { Tabs } from "@/ui/tabs";
import { cableName, formatCount } from "@/units";
import styles from "./as-built.module.css";
import { endText, type Kind, lengthText, presentKinds } from "./kinds";
import { ShowLink, shownAt } from "./show-link";

/** Cards that are in the document at a time. */
const CARDS = 50;
const ROW_PX = 26;
const HEAD_PX = 30;
const MOST_ROWS = 14;

/** Every cable that is not in order: a table, on a phone cards. */
export function Differences({ plan, result }: { plan: Plan; result: AsBuilt }) {
  const kinds = useMemo(() => presentKinds(result), [result]);
  const [chosen, setChosen] = useState<Kind | "all">("all");
  const kind = kinds.some((kind) => kind.kind === chosen) ? chosen : "all";
  const titles = useMemo(
    () => new Map(kinds.map(({ kind: name, title }) => [name as string, title])),
    [kinds],
  );
  const shown = useMemo(
    () => result.differences.filter((difference) => kind === "all" || difference.kind === kind),
    [result, kind],
  );
  if (kinds.length === 0) return null;
  const meaning = kinds.find((item) => item.kind === kind)?.meaning;
  return (
    <section aria-labelledby="as-built-differences">
      <h2 id="as-built-differences">Differences</h2>
      <div className={styles.kinds}>
        <Tabs
          label="Kinds of differences"
          panelId="as-built-rows"
          value={kind}
          onChange={setChosen}
          items={[
            { id: "all" as const, label: "All", detail: formatCount(result.differences.length) },
            ...kinds.map(({ kind: id, title, count }) => ({ id, label: title, detail: formatCount(count) })),
          ]}
        />
      </div>
      <p className={styles.muted}>
        {meaning ?? `${formatCount(result.counts.in_order)} more are in order.`} Choose a cable to see it in
        the picture.
      </p>
      <div id="as-built-rows" role="tabpanel" aria-label="Differences">
        <Table plan={plan} differences={shown} titles={titles} />
        <Cards key={kind} plan={plan} differences={shown} titles={titles} />
      </div>
    </section>
  );
}

interface Rows {
  plan: Plan;
  differences: readonly AsBuiltDifference[];
  titles: ReadonlyMap<string, string>;
}

function Table({ plan, differences, titles }: Rows) {
  const navigate = useNavigate();
  const [sort, setSort] = useState<SortBy | null>(null);
  const columns = useMemo(() => columnsOf(differences, titles), [differences, titles]);
  const rows = useMemo(() => differences.map((_, at) => at), [differences]);
  return (
    <div
      className={styles.table}
      style={{ height: HEAD_PX + ROW_PX * Math.min(differences.length, MOST_ROWS) + 16 }}
    >
      <DataTable
        label="Differences"
        columns={columns}
        rows={rows}
        sort={sort}
        onSort={setSort}
        onActivate={(row) => {
          const { cable } = differences[row]!;
          if (cable !== null) void navigate(shownAt(plan, cableName(cable)));
        }}
        empty="No cables of this kind."
      />
    </div>
  );
}

function columnsOf(differences: readonly AsBuiltDifference[], titles: Rows["titles"]): Column[] {
  const end = (side: "a" | "b", of: "expected" | "found") => (row: number) => {
    const ends = differences[row]![of];
    return ends ? endText(ends[side]) : "";
  };
  return [
    { id: "cable", title: "Cable", width: 70, text: (row) => differences[row]!.name },
    { id: "kind", title: "Kind", width: 100, text: (row) => titles.get(differences[row]!.kind) ?? "" },
    { id: "expected-a", title: "Expected", width: 140, text: end("a", "expected") },
    { id: "expected-b", title: "Expected, other end", width: 140, text: end("b", "expected") },
    { id: "found-a", title: "Found", width: 140, text: end("a", "found") },
    { id: "found-b", title: "Found, other end", width: 140, text: end("b", "found") },
    { id: "length", title: "Length", width: 100, text: (row) => lengthText(differences[row]!) },
    { id: "note", title: "What differs", width: 200, text: (row) => differences[row]!.note },
    { id: "where", title: "In the list", width: 110, text: (row) => differences[row]!.found?.where ?? "" },
  ];
}

function Cards({ plan, differences, titles }: Rows) {
  const [count, setCount] = useState(CARDS);
  return (
    <div className={styles.cards}>
      <ul>
        {differences.slice(0, count).map((difference) => (
          <li
            key={`${difference.kind} ${difference.cable} ${difference.found?.where}`}
            className={styles.card}
          >
            <p className={styles.cardHead}>
              <strong>
                {difference.cable === null ? (
                  "Not planned"
                ) : (
                  <ShowLink plan={plan} cable={difference.name} className={styles.touch}>
                    {difference.name}
                  </ShowLink>
                )}
              </strong>
              <span>{titles.get(difference.kind)}</span>
            </p>
            <dl>
              {difference.expected && <Ends title="Expected" ends={difference.expected} />}
              {difference.found && <Ends title="Found" ends={difference.found} />}
            </dl>
            <p className={styles.muted}>
              {[lengthText(difference), difference.note, difference.found?.where].filter(Boolean).join(" · ")}
            </p>
          </li>
        ))}
      </ul>
      {count < differences.length && (
        <Button onClick={() => setCount(count + CARDS)}>
          Show {Math.min(CARDS, differences.length - count)} more of {formatCount(differences.length)}
        </Button>
      )}
    </div>
  );
}

function Ends({ title, ends }: { title: string; ends: { a: AsBuiltEnd; b: AsBuiltEnd } }) {
  return (
    <>
      <dt>{title}</dt>
      <dd>
        <code>{endText(ends.a)}</code>
        <br />
        <code>{endText(ends.b)}</code>
      </dd>
    </>
  );
}

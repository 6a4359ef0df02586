import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { api, take } from "@/api/client";
import type { Part } from "@/api/types";
import { Button } from "@/ui/button";
import { saveFile } from "@/ui/clipboard";
import { type Column, DataTable } from "@/ui/data-table";
import { Select, TextInput } from "@/ui/form";
import { BasisBadge, Empty, Skeleton } from "@/ui/marks";
import type { SortBy } from "@/ui/table-order";
import { toast } from "@/ui/toast";
import { formatShare, formatWatts, plural } from "@/units";
import { type ScreenRequest, useScreen } from "../shared/curl";
import { formatDate } from "../shared/dates";
import { ProblemView } from "../shared/problem";
import { Shell } from "../shared/shell";
import styles from "./catalog-page.module.css";
import { CopyBook } from "./copy-book";
import { PartDetail } from "./part-detail";
import { priceText, sourceOf, weightText } from "./values";

interface Search {
  book?: string;
  version?: number;
  kind?: string;
  part?: string;
  q?: string;
}

const KINDS = [
  "switch",
  "nic",
  "server",
  "cable",
  "transceiver",
  "rack",
  "container",
  "tray",
  "label",
  "labour",
] as const;
const KIND_TITLES: Record<string, string> = {
  nic: "NICs",
  switch: "Switches",
  labour: "Labour",
  label: "Labels",
};
const kindTitle = (kind: string) => KIND_TITLES[kind] ?? `${kind[0]!.toUpperCase()}${kind.slice(1)}s`;

export default function CatalogPage() {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const client = useQueryClient();
  const set = (change: Search) =>
    void navigate({ to: "/catalog", search: (old: Search) => ({ ...old, ...change }), replace: true });
  const [sort, setSort] = useState<SortBy | null>(null);

  const books = useQuery({
    queryKey: ["books"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/catalog/books", { signal })),
  });
  const book = books.data?.items.find((b) => b.book === search.book) ?? books.data?.items[0];
  const number = search.version ?? book?.latest_version;
  const version = useQuery({
    queryKey: ["book", book?.book, number],
    enabled: book !== undefined && number !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      take(
        api.GET("/api/v1/catalog/books/{book}/versions/{version}", {
          params: { path: { book: book!.book, version: number! } },
          signal,
        }),
      ),
  });
  useEffect(() => {
    document.title = "Catalog · Cubeyard";
  }, []);

  const requests = useMemo<ScreenRequest[]>(
    () =>
      book
        ? [
            { title: "All price books", method: "GET", path: "/api/v1/catalog/books" },
            {
              title: "This version",
              method: "GET",
              path: `/api/v1/catalog/books/${book.book}/versions/${number}`,
            },
            {
              title: "Parts by kind and text",
              method: "GET",
              path: `/api/v1/catalog/parts?book=${book.book}${search.kind ? `&kind=${search.kind}` : ""}${search.q ? `&q=${encodeURIComponent(search.q)}` : ""}`,
            },
          ]
        : [],
    [book, number, search.kind, search.q],
  );
  useScreen(requests);

  const parts = useMemo(() => version.data?.parts ?? [], [version.data]);
  const columns = useMemo(() => columnsOf(parts), [parts]);
  const rows = useMemo(() => {
    const words = (search.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    return parts.flatMap((part, at) => {
      if (search.kind && part.kind !== search.kind) return [];
      const text = `${part.sku} ${part.name} ${part.manufacturer} ${part.kind}`.toLowerCase();
      return words.every((word) => text.includes(word)) ? [at] : [];
    });
  }, [parts, search.kind, search.q]);
  const kinds = KINDS.filter((kind) => parts.some((part) => part.kind === kind));
  const chosen = parts.find((part) => part.sku === search.part);

  const save = async (part: Part, note: string) => {
    if (!book) return;
    const made = await take(
      api.POST("/api/v1/catalog/books/{book}/versions", {
        params: { path: { book: book.book } },
        body: { from_version: number, set: [part], remove: [], note },
      }),
    );
    await client.invalidateQueries({ queryKey: ["books"] });
    client.setQueryData(["book", made.book, made.version], made);
    set({ version: undefined, part: part.sku });
    toast(
      `Saved as version ${made.version} of ${made.title}. Saved plans keep the version they were made with.`,
    );
  };

  return (
    <Shell
      actions={
        version.data && (
          <Button
            icon="export"
            onClick={() =>
              saveFile(
                new Blob([JSON.stringify(version.data, null, 2)], { type: "application/json" }),
                `${version.data.book}-v${version.data.version}.json`,
              )
            }
          >
            JSON
          </Button>
        )
      }
      status={
        version.data && (
          <span>{`${version.data.title}, version ${version.data.version}, ${plural(parts.length, "part")}`}</span>
        )
      }
    >
      {books.isError || version.isError ? (
        <ProblemView
          error={books.error ?? version.error}
          onRetry={() => void (books.isError ? books.refetch() : version.refetch())}
        />
      ) : (
        <div className={styles.page}>
          <nav className={styles.books} aria-label="Price books">
            <h1>Catalog</h1>
            {books.data?.items.map((b) => (
              <div key={b.book} className={styles.book} data-current={b.book === book?.book}>
                <button
                  type="button"
                  className={styles.bookName}
                  aria-current={b.book === book?.book || undefined}
                  onClick={() => set({ book: b.book, version: undefined, part: undefined })}
                >
                  <strong>{b.title}</strong>
                  <span className={styles.muted}>
                    {b.book} · {b.currency}
                  </span>
                </button>
                {b.book === book?.book && (
                  <ul>
                    {[...b.versions]
                      .sort((x, y) => y.version - x.version)
                      .map((v) => (
                        <li key={v.version}>
                          <button
                            type="button"
                            className={styles.version}
                            aria-current={v.version === number || undefined}
                            onClick={() =>
                              set({ version: v.version === b.latest_version ? undefined : v.version })
                            }
                          >
                            <span>
                              Version {v.version}
                              {v.version === b.latest_version && " · latest"}
                            </span>
                            <span className={styles.muted} title={v.note}>
                              {formatDate(new Date(v.created_at))} {v.note}
                            </span>
                          </button>
                        </li>
                      ))}
                  </ul>
                )}
              </div>
            ))}
            {!books.data && <Skeleton height={80} />}
            {book && (
              <CopyBook
                from={book}
                version={number!}
                onMade={(made) => set({ book: made, version: undefined, part: undefined })}
              />
            )}
          </nav>
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
                onChange={(kind) => set({ kind: kind || undefined })}
              />
              <TextInput
                type="search"
                aria-label="Filter parts"
                placeholder="Filter parts"
                className={styles.filter}
                value={search.q ?? ""}
                onChange={(event) => set({ q: event.target.value || undefined })}
              />
              <span className={styles.muted}>{formatShare(rows.length, parts.length)} parts</span>
            </div>
            {version.data ? (
              <DataTable
                label={`Parts, ${formatShare(rows.length, parts.length)}`}
                columns={columns}
                rows={rows}
                sort={sort}
                onSort={setSort}
                isSelected={(row) => parts[row]?.sku === search.part}
                onActivate={(row) => set({ part: parts[row]?.sku })}
                empty="No part answers to that."
              />
            ) : (
              <div className={styles.loading}>
                {Array.from({ length: 12 }, (_, at) => (
                  <Skeleton key={at} height={20} />
                ))}
              </div>
            )}
          </section>
          <aside className={styles.side} aria-label="Part">
            {chosen && version.data ? (
              <PartDetail
                key={`${chosen.sku} ${version.data.version}`}
                version={version.data}
                part={chosen}
                onSave={save}
              />
            ) : (
              <Empty title="Every value has a source">
                <p>Choose a part to see where its numbers come from, or to correct them in a new version.</p>
              </Empty>
            )}
          </aside>
        </div>
      )}
    </Shell>
  );
}

function columnsOf(parts: Part[]): Column[] {
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
      text: (row) => priceText(part(row)),
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

import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { Button } from "@/ui/button";
import { Empty } from "@/ui/marks";
import { useTitle } from "@/ui/use-title";
import { plural } from "@/units";
import { saveFile } from "@/units/save-file";
import { BookList } from "./book-list";
import styles from "./catalog-page.module.css";
import { PartDetail } from "./part-detail";
import { PartsTable } from "./parts-table";
import type { CatalogSearch } from "./search";
import { useBook, useSaveVersion } from "./use-book";

const FailureRates = lazy(() => import("./failure-rates"));

export default function CatalogPage() {
  const [showRates, setShowRates] = useState(false);
  const search = useSearch({ strict: false }) as CatalogSearch;
  const navigate = useNavigate();
  const set = (change: CatalogSearch) =>
    void navigate({ to: "/catalog", search: (old: CatalogSearch) => ({ ...old, ...change }), replace: true });

  const { books, book, number, version } = useBook(search);
  useTitle("Catalog");

  useRequests(book?.book, number, search);
  const parts = useMemo(() => version.data?.parts ?? [], [version.data]);
  const chosen = parts.find((part) => part.sku === search.part);

  const save = useSaveVersion(book, number, (part) => set({ version: undefined, part: part.sku }));
  return (
    <Shell
      actions={
        <>
          <Button onClick={() => setShowRates(true)}>Failure rates</Button>
          {version.data && (
            <Button
              icon="export"
              onClick={() =>
                saveFile(
                  JSON.stringify(version.data, null, 2),
                  `${version.data.book}-v${version.data.version}.json`,
                  "application/json",
                )
              }
            >
              JSON
            </Button>
          )}
          <Suspense>{showRates && <FailureRates onClose={() => setShowRates(false)} />}</Suspense>
        </>
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
          <BookList books={books.data?.items} current={book} version={number} onChoose={set} />
          <PartsTable
            parts={version.data?.parts}
            currency={version.data?.currency ?? ""}
            search={search}
            onSearch={set}
          />
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
                <p>Select a part to see the source of each value, or to correct it in a new version.</p>
              </Empty>
            )}
          </aside>
        </div>
      )}
    </Shell>
  );
}

/** The calls that this page makes. */
function useRequests(book: string | undefined, version: number | undefined, { kind, q }: CatalogSearch) {
  const requests = useMemo<ScreenRequest[]>(
    () =>
      book
        ? [
            { title: "All price books", method: "GET", path: "/api/v1/catalog/books" },
            {
              title: "This version",
              method: "GET",
              path: `/api/v1/catalog/books/${book}/versions/${version}`,
            },
            {
              title: "Parts by kind and text",
              method: "GET",
              path: `/api/v1/catalog/parts?book=${book}${kind ? `&kind=${kind}` : ""}${q ? `&q=${encodeURIComponent(q)}` : ""}`,
            },
          ]
        : [],
    [book, version, kind, q],
  );
  useScreen(requests);
}

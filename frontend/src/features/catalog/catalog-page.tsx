import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { api, take } from "@/api/client";
import type { Part } from "@/api/types";
import { Button } from "@/ui/button";
import { saveFile } from "@/ui/clipboard";
import { Empty } from "@/ui/marks";
import { toast } from "@/ui/toast";
import { plural } from "@/units";
import { type ScreenRequest, useScreen } from "../shared/curl";
import { ProblemView } from "../shared/problem";
import { Shell } from "../shared/shell";
import { BookList } from "./book-list";
import styles from "./catalog-page.module.css";
import { PartDetail } from "./part-detail";
import { PartsTable } from "./parts-table";
import type { CatalogSearch } from "./search";

export default function CatalogPage() {
  const search = useSearch({ strict: false }) as CatalogSearch;
  const navigate = useNavigate();
  const client = useQueryClient();
  const set = (change: CatalogSearch) =>
    void navigate({ to: "/catalog", search: (old: CatalogSearch) => ({ ...old, ...change }), replace: true });

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
          <BookList books={books.data?.items} current={book} version={number} onChoose={set} />
          <PartsTable parts={version.data?.parts} search={search} onSearch={set} />
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

/**
 * The price books, the version that the address names, and saving a corrected part as the next
 * version.
 */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { Part } from "@/api/types";
import { toast } from "@/ui/toast";
import type { CatalogSearch } from "./search";

/**
 * All books; the one of the address, or the first; and its version of the address, or the latest.
 */
export function useBook(search: CatalogSearch) {
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
  return { books, book, number, version };
}

type Book = NonNullable<ReturnType<typeof useBook>["book"]>;

/**
 * Makes the book's next version with one part changed, from version `number`, and opens it. Fails
 * as the call does.
 */
export function useSaveVersion(
  book: Book | undefined,
  number: number | undefined,
  onSaved: (part: Part) => void,
) {
  const client = useQueryClient();
  return async (part: Part, note: string) => {
    if (!book) return;
    const made = await take(
      api.POST("/api/v1/catalog/books/{book}/versions", {
        params: { path: { book: book.book } },
        body: { from_version: number, set: [part], remove: [], note },
      }),
    );
    await client.invalidateQueries({ queryKey: ["books"] });
    client.setQueryData(["book", made.book, made.version], made);
    onSaved(part);
    toast(`Saved as version ${made.version} of ${made.title}. Saved plans keep their version.`);
  };
}

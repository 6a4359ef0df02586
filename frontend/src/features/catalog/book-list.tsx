import type { Book } from "@/api/types";
import { Skeleton } from "@/ui/marks";
import { formatDate } from "@/units";
import styles from "./catalog-page.module.css";
import { CopyBook } from "./copy-book";
import { ImportPrices } from "./import-prices";
import type { CatalogSearch } from "./search";

/** The price books, the versions of the one that is open, and how to begin another. */
export function BookList({
  books,
  current,
  version,
  onChoose,
}: {
  /** Absent while they load. */
  books: Book[] | undefined;
  current: Book | undefined;
  version: number | undefined;
  onChoose: (change: CatalogSearch) => void;
}) {
  return (
    <nav className={styles.books} aria-label="Price books">
      <h1>Catalog</h1>
      {books?.map((b) => (
        <div key={b.book} className={styles.book} data-current={b.book === current?.book}>
          <button
            type="button"
            className={styles.bookName}
            aria-current={b.book === current?.book || undefined}
            onClick={() => onChoose({ book: b.book, version: undefined, part: undefined })}
          >
            <strong>{b.title}</strong>
            <span className="muted">
              {b.book} · {b.currency}
            </span>
          </button>
          {b.book === current?.book && (
            <ul>
              {[...b.versions]
                .sort((x, y) => y.version - x.version)
                .map((v) => (
                  <li key={v.version}>
                    <button
                      type="button"
                      className={styles.version}
                      aria-current={v.version === version || undefined}
                      onClick={() =>
                        onChoose({ version: v.version === b.latest_version ? undefined : v.version })
                      }
                    >
                      <span>
                        Version {v.version}
                        {v.version === b.latest_version && " · latest"}
                      </span>
                      <span className="muted" title={v.note}>
                        {formatDate(v.created_at)} {v.note}
                      </span>
                    </button>
                  </li>
                ))}
            </ul>
          )}
        </div>
      ))}
      {!books && <Skeleton height={80} />}
      {current && (
        <>
          <CopyBook
            key={current.book}
            from={current}
            version={version!}
            onMade={(made) => onChoose({ book: made, version: undefined, part: undefined })}
          />
          <ImportPrices
            key={`${current.book} ${version}`}
            book={current}
            version={version!}
            onMade={() => onChoose({ version: undefined, part: undefined })}
          />
        </>
      )}
    </nav>
  );
}

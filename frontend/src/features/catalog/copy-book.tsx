import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, api, take } from "@/api/client";
import type { Book } from "@/api/types";
import { Button } from "@/ui/button";
import { Stacked, TextInput } from "@/ui/form";
import { ModalDialog } from "@/ui/overlay";
import { toast } from "@/ui/toast";
import styles from "./catalog-page.module.css";

/** A user's book starts as a copy, so that the built-in ones keep the values of their sources. */
export function CopyBook({
  from,
  version,
  onMade,
}: {
  from: Book;
  version: number;
  onMade: (book: string) => void;
}) {
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const [title, setTitle] = useState("");
  const [currency, setCurrency] = useState(from.currency);
  const [rate, setRate] = useState("");
  const [error, setError] = useState<string | null>(null);
  const converts = currency !== from.currency;
  const id = title
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[^a-z0-9.]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, 64);
  return (
    <>
      <Button small icon="copy" onClick={() => setOpen(true)}>
        Copy as a new book
      </Button>
      <ModalDialog title={`Copy “${from.title}”`} isOpen={open} onClose={() => setOpen(false)} width={420}>
        <form
          className={styles.edit}
          onSubmit={async (event) => {
            event.preventDefault();
            try {
              await take(
                api.POST("/api/v1/catalog/books", {
                  body: {
                    book: id,
                    title: title.trim(),
                    copy_of: from.book,
                    version,
                    note: "",
                    ...(converts && { currency, rate: Number(rate) }),
                  },
                }),
              );
              await client.invalidateQueries({ queryKey: ["books"] });
              setOpen(false);
              setTitle("");
              setError(null);
              toast(`Created price book ${id}`);
              onMade(id);
            } catch (caught) {
              setError(caught instanceof ApiError ? caught.message : String(caught));
            }
          }}
        >
          <Stacked label="Title">
            {(field) => (
              <TextInput
                id={field}
                value={title}
                maxLength={200}
                onChange={(event) => setTitle(event.target.value)}
              />
            )}
          </Stacked>
          <CurrencyFields
            from={from.currency}
            currency={currency}
            rate={rate}
            onCurrency={setCurrency}
            onRate={setRate}
          />
          <p className="muted">Id in plans: “{id || "…"}”.</p>
          {error && (
            <p className={styles.wrong} role="alert">
              {error}
            </p>
          )}
          <div className={styles.editActions}>
            <Button
              type="submit"
              look="primary"
              disabled={!id || (converts && !(currency.length === 3 && Number(rate) > 0))}
            >
              Copy
            </Button>
            <Button look="quiet" onClick={() => setOpen(false)}>
              Cancel
            </Button>
          </div>
        </form>
      </ModalDialog>
    </>
  );
}

/**
 * The currency of the copy, and if it differs from the book's, the exchange rate for its amounts.
 */
function CurrencyFields({
  from,
  currency,
  rate,
  onCurrency,
  onRate,
}: {
  from: string;
  currency: string;
  rate: string;
  onCurrency: (currency: string) => void;
  onRate: (rate: string) => void;
}) {
  return (
    <>
      <Stacked label="Currency (ISO 4217)">
        {(field) => (
          <TextInput
            id={field}
            value={currency}
            maxLength={3}
            onChange={(event) => onCurrency(event.target.value.toUpperCase())}
          />
        )}
      </Stacked>
      {currency !== from && (
        <Stacked label={`1 ${from} in ${currency || "…"}`}>
          {(field) => (
            <TextInput
              id={field}
              inputMode="decimal"
              value={rate}
              placeholder="0.92"
              maxLength={20}
              onChange={(event) => onRate(event.target.value)}
            />
          )}
        </Stacked>
      )}
    </>
  );
}

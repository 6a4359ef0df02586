import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ApiError, api, take } from "@/api/client";
import type { Book, PriceImport } from "@/api/types";
import { DecimalQuestion, type Mark } from "@/shared/server/decimal-question";
import { Button } from "@/ui/button";
import { ColumnHeads } from "@/ui/column-heads";
import { Stacked, TextInput } from "@/ui/form";
import { LeftOut } from "@/ui/left-out";
import { ModalDialog } from "@/ui/overlay";
import { toast } from "@/ui/toast";
import { formatDate, formatShort, plural } from "@/units";
import styles from "./catalog-page.module.css";

const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const SHOWN = 200;

type Origin = { source: string; date: string; rates: string; decimal?: Mark };

async function send(
  book: Book,
  version: number,
  file: File,
  { source, date, rates, decimal }: Origin,
  trial: boolean,
): Promise<PriceImport> {
  return take(
    api.POST("/api/v1/catalog/books/{book}/versions/{version}/prices", {
      params: {
        path: { book: book.book, version },
        // The changes were shown by the trial before, those of ten times the price first.
        query: { source, date, trial, jumps: !trial, decimal, rate: rates.split(/[\s;]+/).filter(Boolean) },
      },
      // The schema calls a body of bytes a string.
      body: "",
      bodySerializer: () => file,
      headers: { "Content-Type": /\.csv$/i.test(file.name) ? "text/csv" : XLSX },
    }),
  );
}

/**
 * Prices that a purchaser filled into a plan's workbook or bill: shows what they change, then makes
 * the next version.
 */
export function ImportPrices({ book, version, onMade }: { book: Book; version: number; onMade: () => void }) {
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const [file, setFile] = useState<File | null>(null);
  const [imported, setImported] = useState<PriceImport | null>(null);
  const [origin, setOrigin] = useState<Origin>({
    source: "",
    date: formatDate(Date.now()).slice(0, 10),
    rates: "",
  });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  };
  const choose = (chosen: File, decimal?: Mark) =>
    attempt(async () => {
      setFile(chosen);
      setImported(null);
      setOrigin((old) => ({ ...old, source: old.source || chosen.name, decimal }));
      setImported(await send(book, version, chosen, { ...origin, source: chosen.name, decimal }, true));
    });
  const ready =
    file !== null &&
    imported !== null &&
    imported.changes.length > 0 &&
    imported.problems.length === 0 &&
    origin.source.trim() !== "" &&
    origin.date !== "";
  return (
    <>
      <Button small icon="up" onClick={() => setOpen(true)}>
        Import prices
      </Button>
      <ModalDialog
        title={`Import prices into “${book.title}”`}
        isOpen={open}
        onClose={() => setOpen(false)}
        width={640}
      >
        <form
          className={styles.edit}
          onSubmit={(event) => {
            event.preventDefault();
            if (!ready || busy) return;
            void attempt(async () => {
              const made = await send(
                book,
                version,
                file,
                { ...origin, source: origin.source.trim() },
                false,
              );
              await client.invalidateQueries({ queryKey: ["books"] });
              setOpen(false);
              setFile(null);
              setImported(null);
              toast(
                `Saved ${plural(made.changes.length, "value")} as version ${made.version} of ${book.title}. Saved plans keep their version.`,
              );
              onMade();
            });
          }}
        >
          <FileField onChoose={(chosen) => void choose(chosen)} />
          {imported && <Preview imported={imported} />}
          {imported && <LeftOut rows={imported.skipped} />}
          <OriginFields
            value={origin}
            currency={book.currency}
            onChange={setOrigin}
            onRates={() => file && void choose(file, origin.decimal)}
          />
          {error !== null && <Failed error={error} onDecimal={(mark) => file && void choose(file, mark)} />}
          <div className={styles.editActions}>
            <Button type="submit" look="primary" disabled={!ready || busy}>
              Save as version {book.latest_version + 1}
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

function Failed({ error, onDecimal }: { error: unknown; onDecimal: (mark: Mark) => void }) {
  return (
    <div className={styles.wrong} role="alert">
      {messages(error).map((message) => (
        <p key={message}>{message}</p>
      ))}
      <DecimalQuestion error={error} onAnswer={onDecimal} />
    </div>
  );
}

/** The message of an error, with the problem at each place of the file if the server lists them. */
const messages = (error: unknown): string[] =>
  error instanceof ApiError && error.errors.length > 0
    ? error.errors.map(({ message, hint }) => [message, hint].filter(Boolean).join(" "))
    : [error instanceof Error ? error.message : String(error)];

function FileField({ onChoose }: { onChoose: (file: File) => void }) {
  const id = useId();
  return (
    <>
      <p className="muted">
        Export a plan's workbook (XLSX) or bill of materials (CSV), fill in quoted prices, suppliers, part
        numbers and lead times, and choose the file here. Empty cells change nothing.
      </p>
      <label htmlFor={id}>Filled workbook or bill</label>
      <input
        id={id}
        type="file"
        accept={`.xlsx,.csv,${XLSX},text/csv`}
        onChange={(event) => {
          const chosen = event.target.files?.[0];
          if (chosen) onChoose(chosen);
        }}
      />
    </>
  );
}

/** The source of the prices, which the book stores with each price. */
function OriginFields({
  value,
  currency,
  onChange,
  onRates,
}: {
  value: Origin;
  currency: string;
  onChange: (value: Origin) => void;
  onRates: () => void;
}) {
  return (
    <>
      <Stacked label="Source of the prices">
        {(field) => (
          <TextInput
            id={field}
            value={value.source}
            placeholder="Quotation, supplier…"
            maxLength={300}
            onChange={(event) => onChange({ ...value, source: event.target.value })}
          />
        )}
      </Stacked>
      <Stacked label="Quoted on">
        {(field) => (
          <TextInput
            id={field}
            type="date"
            value={value.date}
            onChange={(event) => onChange({ ...value, date: event.target.value })}
          />
        )}
      </Stacked>
      <Stacked label={`Exchange rates to ${currency}`}>
        {(field) => (
          <TextInput
            id={field}
            value={value.rates}
            placeholder="EUR=1.08"
            maxLength={200}
            onChange={(event) => onChange({ ...value, rates: event.target.value })}
            onBlur={onRates}
          />
        )}
      </Stacked>
    </>
  );
}

const shown = (value: string | number | null) =>
  value === null || value === "" ? "none" : typeof value === "number" ? formatShort(value, 4) : value;

/** The changes of the file, or the errors in it. */
function Preview({ imported }: { imported: PriceImport }) {
  if (imported.problems.length > 0)
    return (
      <div className={styles.preview} role="alert">
        <p className={styles.wrong}>Nothing can be imported until these lines are mended:</p>
        <ul>
          {imported.problems.slice(0, SHOWN).map((problem) => (
            <li key={`${problem.line} ${problem.message}`}>
              {problem.line}: {problem.message}
            </li>
          ))}
        </ul>
      </div>
    );
  if (imported.changes.length === 0)
    return (
      <p role="status">
        {plural(imported.lines, "line")} read. Nothing differs from version {imported.from_version}.
      </p>
    );
  const jumps = imported.changes.filter(({ jump }) => jump);
  // Large changes come first.
  const changes = [...jumps, ...imported.changes.filter(({ jump }) => !jump)];
  return (
    <div className={styles.preview}>
      {jumps.length > 0 && (
        <p className={styles.wrong} role="alert">
          {plural(jumps.length, "price")} would become ten times as high or low. Check before you save.
        </p>
      )}
      <table aria-label="Changes">
        <ColumnHeads columns={["Line", "Part", "Value", "Before", "After"]} />
        <tbody>
          {changes.slice(0, SHOWN).map((change) => (
            <tr key={`${change.line} ${change.field}`} className={change.jump ? styles.wrong : undefined}>
              <td>{change.line.replace("line ", "")}</td>
              <td title={change.name}>{change.sku}</td>
              <td>{change.field}</td>
              <td>{shown(change.before)}</td>
              <td>{shown(change.after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {imported.changes.length > SHOWN && <p>and {imported.changes.length - SHOWN} more</p>}
    </div>
  );
}

import { useState } from "react";
import type { BookVersion, Part } from "@/api/types";
import { Button } from "@/ui/button";
import { Select, TextInput } from "@/ui/form";
import { BasisBadge } from "@/ui/marks";
import { formatDate } from "../shared/dates";
import styles from "./catalog-page.module.css";
import { editText, parseValue, valueRows, withEdits } from "./values";

type Basis = "published" | "vendor" | "assumed";

/** One part: every value with its source and basis. Editing makes the book's next version; nothing changes in place. */
export function PartDetail({
  version,
  part,
  onSave,
}: {
  version: BookVersion;
  part: Part;
  onSave: (part: Part, note: string) => Promise<void>;
}) {
  const [editing, setEditing] = useState(false);
  return (
    <section className={styles.detail} aria-label={part.name}>
      <div className={styles.detailHead}>
        <div>
          <h2>{part.name}</h2>
          <p className={styles.muted}>
            {part.sku} · {part.manufacturer || "no maker named"} · {part.kind}
          </p>
        </div>
        {!editing && (
          <Button small icon="edit" onClick={() => setEditing(true)}>
            Edit
          </Button>
        )}
      </div>
      {editing ? (
        <EditForm
          version={version}
          part={part}
          onCancel={() => setEditing(false)}
          onSave={async (next, note) => {
            await onSave(next, note);
            setEditing(false);
          }}
        />
      ) : (
        <dl className={styles.values}>
          {valueRows(part).map((row) => (
            <div key={row.field} className={styles.value}>
              <dt>{row.title}</dt>
              <dd>{row.text}</dd>
              <dd className={styles.source}>
                {row.source ? (
                  <>
                    <BasisBadge basis={row.source.basis} /> {row.source.source}
                    {row.source.date && ` · ${row.source.date}`}
                  </>
                ) : row.text === "unknown" ? (
                  "nobody gave a value"
                ) : (
                  "see the values below"
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

function EditForm({
  version,
  part,
  onCancel,
  onSave,
}: {
  version: BookVersion;
  part: Part;
  onCancel: () => void;
  onSave: (part: Part, note: string) => Promise<void>;
}) {
  const rows = valueRows(part).filter(
    (row) => typeof row.value !== "object" || row.value === null || Array.isArray(row.value),
  );
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [source, setSource] = useState("");
  const [basis, setBasis] = useState<Basis>("vendor");
  const [date, setDate] = useState(() => formatDate(new Date()).slice(0, 10));
  const [saving, setSaving] = useState(false);
  const [error, setError] = useState<string | null>(null);

  const edits: Record<string, unknown> = {};
  const wrong: string[] = [];
  for (const row of rows) {
    const text = texts[row.field];
    if (text === undefined || text === editText(row.value)) continue;
    const value = parseValue(text, row.value);
    if (value === undefined) wrong.push(row.field);
    else edits[row.field] = value;
  }
  const changed = Object.keys(edits).length;
  const ready = changed > 0 && wrong.length === 0 && source.trim() !== "" && date !== "" && !saving;
  return (
    <form
      className={styles.edit}
      onSubmit={async (event) => {
        event.preventDefault();
        if (!ready) return;
        setSaving(true);
        setError(null);
        try {
          await onSave(
            withEdits(part, edits, { source: source.trim(), date, basis }),
            `${part.sku}: ${Object.keys(edits).join(", ")}`,
          );
        } catch (caught) {
          setError(caught instanceof Error ? caught.message : String(caught));
        } finally {
          setSaving(false);
        }
      }}
    >
      {rows.map((row) => (
        <div key={row.field} className={styles.editRow}>
          <label htmlFor={`edit-${row.field}`}>
            {row.title} {row.unit && <span className={styles.muted}>{row.unit}</span>}
          </label>
          <TextInput
            id={`edit-${row.field}`}
            value={texts[row.field] ?? editText(row.value)}
            aria-invalid={wrong.includes(row.field) || undefined}
            onChange={(event) => setTexts((old) => ({ ...old, [row.field]: event.target.value }))}
          />
        </div>
      ))}
      <fieldset className={styles.sourceFields}>
        <legend>Where the new values come from</legend>
        <TextInput
          aria-label="Source"
          placeholder="Quotation, data sheet, paper…"
          value={source}
          onChange={(event) => setSource(event.target.value)}
        />
        <Select
          aria-label="Basis"
          value={basis}
          options={[
            { value: "vendor", label: "Vendor" },
            { value: "published", label: "Published" },
            { value: "assumed", label: "Assumed" },
          ]}
          onChange={(value) => setBasis(value as Basis)}
        />
        <TextInput
          type="date"
          aria-label="Date of the source"
          value={date}
          onChange={(event) => setDate(event.target.value)}
        />
      </fieldset>
      {wrong.length > 0 && <p className={styles.wrong}>Not a value of its kind: {wrong.join(", ")}</p>}
      {error && (
        <p className={styles.wrong} role="alert">
          {error}
        </p>
      )}
      <div className={styles.editActions}>
        <Button type="submit" look="primary" disabled={!ready}>
          Save as version {version.version + 1}
        </Button>
        <Button look="quiet" onClick={onCancel}>
          Cancel
        </Button>
        <span className={styles.muted}>
          {changed === 0
            ? "Nothing changed yet"
            : source.trim() === ""
              ? "A source is needed"
              : `${changed} changed`}
        </span>
      </div>
    </form>
  );
}

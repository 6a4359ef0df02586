import { useState } from "react";
import type { BookVersion, Part } from "@/api/types";
import { Button } from "@/ui/button";
import { Select, TextInput } from "@/ui/form";
import { formatDate } from "@/units";
import styles from "./catalog-page.module.css";
import { editsOf, editText, valueRows, withEdits } from "./values";

type Basis = "published" | "vendor" | "assumed";
interface Origin {
  source: string;
  basis: Basis;
  date: string;
}

/** The values of a part as fields; saving requires the source of the changed values. */
export function PartForm({
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
  const rows = valueRows(part, version.currency).filter(
    (row) => typeof row.value !== "object" || row.value === null || Array.isArray(row.value),
  );
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [origin, setOrigin] = useState<Origin>(() => ({
    source: "",
    basis: "vendor",
    date: formatDate(Date.now()).slice(0, 10),
  }));
  const [saving, setSaving] = useState(false);
  const [error, setError] = useState<string | null>(null);

  const { edits, wrong } = editsOf(rows, texts);
  const changed = Object.keys(edits).length;
  const ready =
    changed > 0 && wrong.length === 0 && origin.source.trim() !== "" && origin.date !== "" && !saving;
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
            withEdits(part, edits, { ...origin, source: origin.source.trim() }),
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
            {row.title} {row.unit && <span className="muted">{row.unit}</span>}
          </label>
          <TextInput
            id={`edit-${row.field}`}
            value={texts[row.field] ?? editText(row.value)}
            aria-invalid={wrong.includes(row.field) || undefined}
            onChange={(event) => setTexts((old) => ({ ...old, [row.field]: event.target.value }))}
          />
        </div>
      ))}
      <SourceFields value={origin} onChange={setOrigin} />
      {wrong.length > 0 && <p className={styles.wrong}>Not valid: {wrong.join(", ")}</p>}
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
        <span className="muted">
          {changed === 0
            ? "No changes yet"
            : origin.source.trim() === ""
              ? "A source is needed"
              : `${changed} changed`}
        </span>
      </div>
    </form>
  );
}

/** The source of the new values. */
function SourceFields({ value, onChange }: { value: Origin; onChange: (value: Origin) => void }) {
  return (
    <fieldset className={styles.sourceFields}>
      <legend>Source of the new values</legend>
      <TextInput
        aria-label="Source"
        placeholder="Quotation, data sheet, paper…"
        value={value.source}
        onChange={(event) => onChange({ ...value, source: event.target.value })}
      />
      <Select
        aria-label="Basis"
        value={value.basis}
        options={[
          { value: "vendor", label: "Vendor" },
          { value: "published", label: "Published" },
          { value: "assumed", label: "Assumed" },
        ]}
        onChange={(basis) => onChange({ ...value, basis: basis as Basis })}
      />
      <TextInput
        type="date"
        aria-label="Date of the source"
        value={value.date}
        onChange={(event) => onChange({ ...value, date: event.target.value })}
      />
    </fieldset>
  );
}

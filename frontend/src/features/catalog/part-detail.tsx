import { useState } from "react";
import type { BookVersion, Part } from "@/api/types";
import { Button } from "@/ui/button";
import { BasisBadge } from "@/ui/marks";
import styles from "./catalog-page.module.css";
import { PartForm } from "./part-form";
import { valueRows } from "./values";

/**
 * One part: every value with its source and basis. Editing makes the book's next version; nothing
 * changes in place.
 */
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
          <p className="muted">
            {part.sku} · {part.manufacturer || "manufacturer unknown"} · {part.kind}
          </p>
        </div>
        {!editing && (
          <Button small icon="edit" onClick={() => setEditing(true)}>
            Edit
          </Button>
        )}
      </div>
      {editing ? (
        <PartForm
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
          {valueRows(part, version.currency).map((row) => (
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
                  "no value"
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

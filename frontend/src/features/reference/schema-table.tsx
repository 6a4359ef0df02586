import { type Document, deref, type Schema, typeText } from "./openapi";
import styles from "./reference-page.module.css";

/** The properties of a body, with their types and what they mean. */
export function SchemaTable({ document, schema }: { document: Document; schema: Schema | undefined }) {
  const full = deref(document, schema);
  const properties = Object.entries(full?.properties ?? {});
  if (properties.length === 0) return null;
  return (
    <dl className={styles.schema}>
      {properties.map(([name, property]) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
            {full?.required?.includes(name) && <span title="required"> *</span>}
          </dt>
          <dd>
            <code>{typeText(document, property)}</code> {deref(document, property)?.description}
          </dd>
        </div>
      ))}
    </dl>
  );
}

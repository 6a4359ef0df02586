/** Parts that the inspector's views share. */
import type { ReactNode } from "react";
import type { Bom } from "@/api/types";
import type { PlanModel } from "@/scene/model";
import type { Highlight, Selection } from "@/scene/selection";
import styles from "../rows.module.css";

export interface InspectorProps {
  model: PlanModel;
  bom: Bom;
  selection: Selection;
  highlight: Highlight | null;
  select: (selection: Selection) => void;
}

export function Rows({ rows }: { rows: [title: string, value: ReactNode][] }) {
  return (
    <dl className={styles.rows}>
      {rows.map(([title, value]) => (
        <div key={title} className={styles.row}>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function To({ onClick, children }: { onClick: () => void; children: ReactNode }) {
  return (
    <button type="button" className="text-button" onClick={onClick}>
      {children}
    </button>
  );
}

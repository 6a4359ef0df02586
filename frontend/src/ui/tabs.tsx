import { type KeyboardEvent, type ReactNode, useRef } from "react";
import styles from "./tabs.module.css";

export interface TabItem<T extends string> {
  id: T;
  label: string;
  detail?: ReactNode;
}

/**
 * Arrow keys, Home and End move and choose, as the ARIA pattern for tabs and radio groups requires.
 * Each item's element has its id in `data-tab`.
 */
export function useArrows<T extends string>(ids: readonly T[], value: T, onChange: (value: T) => void) {
  const root = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = ids.indexOf(value);
    const last = ids.length - 1;
    let next: number;
    if (event.key === "ArrowRight" || event.key === "ArrowDown") next = at === last ? 0 : at + 1;
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") next = at <= 0 ? last : at - 1;
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = last;
    else return;
    event.preventDefault();
    const id = ids[next];
    if (id === undefined) return;
    onChange(id);
    root.current?.querySelectorAll<HTMLElement>("[data-tab]")[next]?.focus();
  };
  return { ref: root, onKeyDown };
}

interface RowProps<T extends string> {
  items: TabItem<T>[];
  value: T;
  onChange: (value: T) => void;
  label: string;
}

function Row<T extends string>({
  items,
  value,
  onChange,
  label,
  panelId,
}: RowProps<T> & { panelId?: string }) {
  const arrows = useArrows(
    items.map(({ id }) => id),
    value,
    onChange,
  );
  const tabs = panelId !== undefined;
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles take a label
    <div
      {...arrows}
      className={tabs ? styles.tabs : styles.segments}
      role={tabs ? "tablist" : "radiogroup"}
      aria-label={label}
    >
      {items.map(({ id, label: text, detail }) => (
        <button
          key={id}
          type="button"
          role={tabs ? "tab" : "radio"}
          data-tab={id}
          className={styles.tab}
          {...{ [tabs ? "aria-selected" : "aria-checked"]: id === value }}
          aria-controls={panelId}
          tabIndex={id === value ? 0 : -1}
          onClick={() => onChange(id)}
        >
          {text}
          {tabs && detail && <span className={styles.count}>{detail}</span>}
        </button>
      ))}
    </div>
  );
}

/** `panelId` names the one panel that shows the chosen tab. */
export const Tabs = <T extends string>(props: RowProps<T> & { panelId: string }) => <Row {...props} />;

/** One choice of a few, all visible. */
export const Segmented = <T extends string>(props: RowProps<T>) => <Row {...props} />;

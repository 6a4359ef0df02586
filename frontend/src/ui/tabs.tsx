import { type KeyboardEvent, type ReactNode, useRef } from "react";
import styles from "./tabs.module.css";

export interface TabItem<T extends string> {
  id: T;
  label: string;
  detail?: ReactNode;
}

/**
 * Arrow keys, Home and End move and choose, as the ARIA pattern for tabs and radio groups requires.
 */
function useArrows<T extends string>(items: TabItem<T>[], value: T, onChange: (value: T) => void) {
  const root = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const at = items.findIndex((item) => item.id === value);
    const last = items.length - 1;
    let next: number;
    if (event.key === "ArrowRight" || event.key === "ArrowDown") next = at === last ? 0 : at + 1;
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") next = at <= 0 ? last : at - 1;
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = last;
    else return;
    event.preventDefault();
    const item = items[next];
    if (!item) return;
    onChange(item.id);
    root.current?.querySelectorAll<HTMLElement>("[data-tab]")[next]?.focus();
  };
  return { root, onKeyDown };
}

/** `panelId` names the one panel that shows the chosen tab. */
export function Tabs<T extends string>({
  items,
  value,
  onChange,
  label,
  panelId,
}: {
  items: TabItem<T>[];
  value: T;
  onChange: (value: T) => void;
  label: string;
  panelId: string;
}) {
  const { root, onKeyDown } = useArrows(items, value, onChange);
  return (
    <div ref={root} className={styles.tabs} role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {items.map((item) => (
        <button
          key={item.id}
          type="button"
          role="tab"
          data-tab={item.id}
          className={styles.tab}
          aria-selected={item.id === value}
          aria-controls={panelId}
          tabIndex={item.id === value ? 0 : -1}
          onClick={() => onChange(item.id)}
        >
          {item.label}
          {item.detail && <span className={styles.count}>{item.detail}</span>}
        </button>
      ))}
    </div>
  );
}

/** One choice of a few, all visible. */
export function Segmented<T extends string>({
  items,
  value,
  onChange,
  label,
}: {
  items: TabItem<T>[];
  value: T;
  onChange: (value: T) => void;
  label: string;
}) {
  const { root, onKeyDown } = useArrows(items, value, onChange);
  return (
    <div ref={root} className={styles.segments} role="radiogroup" aria-label={label} onKeyDown={onKeyDown}>
      {items.map((item) => (
        // biome-ignore lint/a11y/useSemanticElements: a native radio cannot hold this look in every browser's forced colours
        <button
          key={item.id}
          type="button"
          role="radio"
          data-tab={item.id}
          className={styles.tab}
          aria-checked={item.id === value}
          tabIndex={item.id === value ? 0 : -1}
          onClick={() => onChange(item.id)}
        >
          {item.label}
        </button>
      ))}
    </div>
  );
}

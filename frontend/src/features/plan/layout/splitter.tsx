import { type ReactNode, useEffect, useRef, useState } from "react";
import styles from "./splitter.module.css";

const KEY = "cubeyard.tables-share";
const MIN = 0.12;
const MAX = 0.8;

/**
 * Two panes, one above the other. The bar between them is dragged, or moved with the arrow keys.
 */
export function Splitter({ top, bottom, label }: { top: ReactNode; bottom: ReactNode; label: string }) {
  const root = useRef<HTMLDivElement>(null);
  const [share, setShare] = useState(() => {
    try {
      const stored = Number(localStorage.getItem(KEY));
      return stored >= MIN && stored <= MAX ? stored : 0.27;
    } catch {
      return 0.27;
    }
  });
  useEffect(() => {
    try {
      localStorage.setItem(KEY, String(share));
    } catch {
      // The division is kept as long as the page is open.
    }
  }, [share]);
  const set = (next: number) => setShare(Math.min(MAX, Math.max(MIN, next)));
  return (
    <div
      ref={root}
      className={styles.split}
      style={{ gridTemplateRows: `minmax(0, ${1 - share}fr) 5px minmax(0, ${share}fr)` }}
    >
      {top}
      {/* biome-ignore lint/a11y/useSemanticElements: an hr takes no keys; this is the ARIA window splitter */}
      <div
        role="separator"
        aria-label={label}
        aria-orientation="horizontal"
        aria-valuenow={Math.round(share * 100)}
        aria-valuemin={MIN * 100}
        aria-valuemax={MAX * 100}
        tabIndex={0}
        className={styles.bar}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={(event) => {
          if (!event.currentTarget.hasPointerCapture(event.pointerId) || !root.current) return;
          const box = root.current.getBoundingClientRect();
          set((box.bottom - event.clientY) / box.height);
        }}
        onDoubleClick={() => set(0.27)}
        onKeyDown={(event) => {
          const by = { ArrowUp: 0.04, ArrowDown: -0.04, PageUp: 0.2, PageDown: -0.2 }[event.key];
          if (by === undefined) return;
          event.preventDefault();
          set(share + by);
        }}
      />
      {bottom}
    </div>
  );
}

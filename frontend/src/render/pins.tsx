/**
 * Marks over the picture that keep their size at any zoom; a click or a key opens their text.
 */
import type { CSSProperties } from "react";
import type { Selection } from "@/scene";
import styles from "./plan-canvas.module.css";

export interface Pin {
  key: string;
  /** In the picture's own units: metres of the floor. */
  x: number;
  y: number;
  /** Pins at the same position are stacked vertically, because the next rack is to their right. */
  place: number;
  label: string;
  title: string;
  selection: Selection;
}

export function Pins({
  pins,
  onSelect,
}: {
  pins: readonly Pin[];
  onSelect: ((selection: Selection) => void) | undefined;
}) {
  return (
    <>
      {pins.map(({ key, x, y, place, label, title, selection }) => (
        <button
          key={key}
          type="button"
          className={styles.pin}
          style={{ "--x": x, "--y": y, "--place": place } as CSSProperties}
          aria-label={label}
          title={title}
          // The picture must not handle presses on a pin.
          onPointerDown={(event) => event.stopPropagation()}
          onMouseDown={(event) => event.stopPropagation()}
          onKeyDown={(event) => event.stopPropagation()}
          onClick={(event) => {
            event.stopPropagation();
            onSelect?.(selection);
          }}
        />
      ))}
    </>
  );
}

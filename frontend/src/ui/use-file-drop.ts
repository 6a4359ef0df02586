/** Files dropped on an element, or anywhere in the window. */
import { type RefObject, useEffect, useRef, useState } from "react";

/**
 * Whether files are being dragged over it. Only files are accepted, by the innermost element that
 * accepts them; dragged text keeps its default behaviour.
 */
export function useFileDrop(
  target: RefObject<HTMLElement | null> | "window",
  onFiles: (files: readonly File[]) => void,
): boolean {
  const [over, setOver] = useState(false);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => {
    const node: EventTarget | null = target === "window" ? window : target.current;
    if (!node) return;
    // Each element within reports its own entering and leaving: they cancel out.
    let inside = 0;
    const withFiles = (handle: (event: DragEvent) => void) => (event: Event) => {
      if ((event as DragEvent).dataTransfer?.types.includes("Files")) handle(event as DragEvent);
    };
    const handlers: Record<string, (event: Event) => void> = {
      dragenter: withFiles((event) => {
        // An inner element that accepts files has prevented the default before the event arrives
        // here.
        setOver(!event.defaultPrevented);
        event.preventDefault();
        inside++;
      }),
      dragover: withFiles((event) => event.preventDefault()),
      dragleave: withFiles(() => {
        inside = Math.max(0, inside - 1);
        if (inside === 0) setOver(false);
      }),
      drop: withFiles((event) => {
        const taken = event.defaultPrevented;
        event.preventDefault();
        inside = 0;
        setOver(false);
        if (!taken) latest.current([...(event.dataTransfer?.files ?? [])]);
      }),
    };
    for (const [name, handler] of Object.entries(handlers)) node.addEventListener(name, handler);
    return () => {
      for (const [name, handler] of Object.entries(handlers)) node.removeEventListener(name, handler);
    };
  }, [target]);
  return over;
}

import { useEffect, useRef, useState } from "react";

const QUIET_MS = 120;

/**
 * `value` at once when nothing changed lately, else when it has been quiet for a moment: a single
 * click replans without waiting, a burst of typing makes one call.
 */
export function useSettled<T>(value: T, quietMs = QUIET_MS): T {
  const [settled, setSettled] = useState(value);
  const changedAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const now = performance.now();
    const quietFor = now - changedAt.current;
    changedAt.current = now;
    if (quietFor >= quietMs) {
      setSettled(value);
      return;
    }
    const timer = setTimeout(() => setSettled(value), quietMs);
    return () => clearTimeout(timer);
  }, [value, quietMs]);
  return settled;
}

/**
 * Longer than the time between two keys while typing: requests that depend on typed text wait this
 * long.
 */
export const TYPING_MS = 250;

/**
 * A text field that passes on every change at once, so that a reload right after the last key keeps
 * the text. Receivers should wait for `useSettled(…, TYPING_MS)` before they send requests. A
 * change from outside (Back, a link) replaces the text.
 */
export function useTypedText(
  value: string,
  onTyped: (value: string) => void,
): [string, (next: string) => void] {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  return [
    text,
    (next) => {
      sent.current = next;
      setText(next);
      onTyped(next);
    },
  ];
}

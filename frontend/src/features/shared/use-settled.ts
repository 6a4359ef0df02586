import { useEffect, useRef, useState } from "react";

const QUIET_MS = 120;

/**
 * `value` at once when nothing changed lately, else when it has been quiet for a moment: a single click replans without
 * waiting, a burst of typing makes one call.
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

/** Longer than between two keys of someone who types. */
const TYPING_MS = 250;

/** A text as it is typed, told on when the typing rests. A change from outside (Back, a link) replaces it. */
export function useSettledText(
  value: string,
  onSettled: (value: string) => void,
): [string, (next: string) => void] {
  const [text, setText] = useState(value);
  const told = useRef(value);
  const settled = useRef(onSettled);
  settled.current = onSettled;
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text === told.current) return;
    const timer = setTimeout(() => {
      told.current = text;
      settled.current(text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText];
}

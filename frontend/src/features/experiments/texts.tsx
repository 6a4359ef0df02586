/** Inputs for what is typed as text and kept as something else. */
import { useEffect, useState } from "react";
import { TextInput } from "@/ui/form";

/**
 * A text that `read` turns into a value. What cannot be read stays in the field, marked, and changes nothing; the value
 * of the draft comes back when the field is left.
 */
export function ReadInput<T>({
  value,
  text,
  read,
  onChange,
  ...rest
}: {
  id?: string;
  value: T;
  text: (value: T) => string;
  /** Null for a text that means nothing. */
  read: (text: string) => T | null;
  onChange: (value: T) => void;
  invalid?: boolean;
  placeholder?: string;
  "aria-label"?: string;
  "aria-describedby"?: string;
}) {
  const shown = text(value);
  const [typed, setTyped] = useState<string | null>(null);
  const [unreadable, setUnreadable] = useState(false);
  const { invalid, ...input } = rest;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a value from elsewhere replaces what was typed
  useEffect(() => {
    if (typed !== null && text(read(typed) ?? value) !== shown) setTyped(null);
  }, [shown]);
  return (
    <TextInput
      {...input}
      value={typed ?? shown}
      aria-invalid={invalid || unreadable || undefined}
      onChange={(event) => {
        const next = read(event.target.value);
        setTyped(event.target.value);
        setUnreadable(next === null);
        if (next !== null) onChange(next);
      }}
      onBlur={() => {
        setTyped(null);
        setUnreadable(false);
      }}
    />
  );
}

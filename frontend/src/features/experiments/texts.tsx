/** Inputs for values that are typed as text. */
import { useEffect, useState } from "react";
import { TextInput } from "@/ui/form";
import { useUnreadable } from "@/ui/unreadable";

/**
 * A text that `read` parses into a value. A text that cannot be parsed stays in the field, marked,
 * with `hint` next to it.
 */
export function ReadInput<T>({
  value,
  text,
  read,
  onChange,
  hint = "This text cannot be read.",
  ...rest
}: {
  id?: string;
  value: T;
  text: (value: T) => string;
  /** Null for a text that means nothing. */
  read: (text: string) => T | null;
  onChange: (value: T) => void;
  /** Explains the format. */
  hint?: string;
  invalid?: boolean;
  placeholder?: string;
  "aria-label"?: string;
  "aria-describedby"?: string;
}) {
  const shown = text(value);
  const [typed, setTyped] = useState<string | null>(null);
  const { invalid, ...input } = rest;
  const unreadable = typed !== null && read(typed) === null;
  useUnreadable(unreadable ? hint : null);
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
        if (next !== null) onChange(next);
      }}
      title={unreadable ? hint : undefined}
      onBlur={() => {
        if (!unreadable) setTyped(null);
      }}
    />
  );
}

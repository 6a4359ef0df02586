import { type InputHTMLAttributes, type ReactNode, type Ref, useEffect, useId, useState } from "react";
import { cx } from "./cx";
import styles from "./form.module.css";
import { clampStep, numberHint, parseNumber } from "./number-text";
import { FieldProblemContext, useUnreadable } from "./unreadable";

/** A titled block of a side panel. */
export function Section({
  title,
  aside,
  guide,
  children,
}: {
  title: string;
  aside?: ReactNode;
  /** Name by which a guide points at it. */
  guide?: string;
  children: ReactNode;
}) {
  return (
    <section className={styles.section} aria-label={title} data-guide={guide}>
      <div className={styles.sectionTitle}>
        <h2 style={{ font: "inherit" }}>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

export interface FieldProps {
  label: string;
  /** The paper's letter for the parameter. */
  letter?: string;
  title?: string;
  /** Chosen by the user, not a default. */
  chosen?: boolean;
  message?: string;
  severity?: "error" | "warning";
  controlWidth?: number;
  children: (ids: { id: string; describedBy: string | undefined }) => ReactNode;
}

/** One label and its control on one line, with the finding that belongs to it below. */
export function Field({
  label,
  letter,
  title,
  chosen,
  message,
  severity = "error",
  controlWidth,
  children,
}: FieldProps) {
  const id = useId();
  const [unreadable, setUnreadable] = useState<string | null>(null);
  const shown = unreadable ?? message;
  const described = shown ? `${id}-message` : undefined;
  return (
    <div
      className={styles.row}
      style={controlWidth ? ({ "--control-width": `${controlWidth}px` } as React.CSSProperties) : undefined}
    >
      <label className={styles.label} htmlFor={id} title={title}>
        <span className={styles.labelText}>{label}</span>{" "}
        {letter && <span className={styles.letter}>{letter}</span>}
        {chosen && (
          <span className={styles.dot} title="Chosen here; the others are defaults">
            <span className="visually-hidden">(changed)</span>
          </span>
        )}
      </label>
      <FieldProblemContext.Provider value={setUnreadable}>
        {children({ id, describedBy: described })}
      </FieldProblemContext.Provider>
      {shown && (
        <p
          id={described}
          className={cx(styles.message, severity === "warning" && !unreadable && styles.warning)}
        >
          {shown}
        </p>
      )}
    </div>
  );
}

export interface NumberInputProps {
  id?: string;
  value: number | null;
  onChange: (value: number | null) => void;
  min?: number | null;
  max?: number | null;
  step?: number;
  integer?: boolean;
  unit?: string | null;
  placeholder?: string;
  /** An empty input means "the default": `onChange(null)`. */
  optional?: boolean;
  invalid?: boolean;
  describedBy?: string;
  "aria-label"?: string;
}

/**
 * A typed number: arrow keys step, and a readable text is committed while typing so that the plan
 * follows at once. Out-of-range values are committed too: the engine's finding explains them and
 * offers the nearest one. A text that is no number stays in the field, with a hint on what to type.
 */
export function NumberInput(props: NumberInputProps) {
  const {
    id,
    value,
    onChange,
    min,
    max,
    step = 1,
    integer,
    unit,
    placeholder,
    optional,
    invalid,
    describedBy,
  } = props;
  const shown = value === null ? "" : String(value);
  // Null: shows the value.
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? shown;
  const parsed = parseNumber(text, integer);
  const unreadable = typed !== null && parsed === null && !(typed.trim() === "" && optional);
  useUnreadable(unreadable ? numberHint({ integer, min, max, optional }) : null);
  // A value that comes from elsewhere (undo, a fix) replaces a text that is not its own.
  useEffect(() => {
    setTyped((before) => (before !== null && parseNumber(before, integer) === value ? before : null));
  }, [value, integer]);

  const commit = (next: string) => {
    setTyped(next);
    const number = parseNumber(next, integer);
    if (number !== null && number !== value) onChange(number);
    if (next.trim() === "" && optional && value !== null) onChange(null);
  };
  return (
    <span className={styles.number}>
      <input
        id={id}
        className={styles.input}
        // Room for the unit, which stands over the input.
        style={unit ? { paddingRight: 14 + unitPx(unit) } : undefined}
        inputMode={integer ? "numeric" : "decimal"}
        autoComplete="off"
        spellCheck={false}
        value={text}
        placeholder={placeholder}
        aria-label={props["aria-label"]}
        aria-invalid={invalid || unreadable || undefined}
        aria-describedby={describedBy}
        title={unreadable ? numberHint({ integer, min, max, optional }) : undefined}
        onFocus={(event) => event.target.select()}
        onBlur={() => {
          if (!unreadable) setTyped(null);
        }}
        onChange={(event) => commit(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") event.currentTarget.select();
          if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
          event.preventDefault();
          const by = (event.key === "ArrowUp" ? 1 : -1) * step * (event.shiftKey ? 10 : 1);
          commit(String(clampStep(parsed ?? Number(placeholder ?? min ?? 0), by, min, max)));
        }}
      />
      {unit && <span className={styles.unit}>{unit}</span>}
    </span>
  );
}

export interface SelectOption {
  value: string;
  label: string;
  disabled?: boolean;
}

/** The system's own select: works with every input method and costs nothing. */
export function Select({
  value,
  options,
  onChange,
  width,
  ...rest
}: {
  id?: string;
  value: string;
  options: SelectOption[];
  onChange: (value: string) => void;
  width?: number | string;
  disabled?: boolean;
  "aria-label"?: string;
  "aria-describedby"?: string;
}) {
  return (
    <select
      {...rest}
      className={styles.select}
      style={width ? { width } : undefined}
      // Where it is cut off, it can still be read.
      title={options.find((option) => option.value === value)?.label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value} disabled={option.disabled}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

export function TextInput({
  className,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { ref?: Ref<HTMLInputElement> }) {
  return <input autoComplete="off" spellCheck={false} {...rest} className={cx(styles.input, className)} />;
}

/** A label above its control, for dialogs. */
export function Stacked({ label, children }: { label: string; children: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div className={styles.stack}>
      <label htmlFor={id}>{label}</label>
      {children(id)}
    </div>
  );
}

export const textAreaClass = styles.textarea;

/** About as wide as a unit is in its type size. */
const unitPx = (unit: string) =>
  [...unit].reduce((sum, letter) => sum + (/[MWm%]/.test(letter) ? 11 : 6.5), 0);

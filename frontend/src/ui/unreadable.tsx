/**
 * Inputs whose text cannot be parsed: the text stays, its field shows what to type, and the form
 * around it cannot be sent.
 */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useId, useRef } from "react";

type Report = (input: string, problem: string | null) => void;

const FormContext = createContext<Report | null>(null);
/** The field that shows the problem of the input in it. */
export const FieldProblemContext = createContext<((problem: string | null) => void) | null>(null);

/** Counts the inputs inside whose text cannot be parsed. */
export function UnreadableInputs({
  onCount,
  children,
}: {
  onCount: (count: number) => void;
  children: ReactNode;
}) {
  const unreadable = useRef(new Set<string>());
  const report = useCallback<Report>(
    (input, problem) => {
      if (problem === null) unreadable.current.delete(input);
      else unreadable.current.add(input);
      onCount(unreadable.current.size);
    },
    [onCount],
  );
  return <FormContext.Provider value={report}>{children}</FormContext.Provider>;
}

/** Reports an input's problem to its field and its form, as long as the input is on screen. */
export function useUnreadable(problem: string | null): void {
  const id = useId();
  const form = useContext(FormContext);
  const field = useContext(FieldProblemContext);
  useEffect(() => {
    if (problem === null) return;
    form?.(id, problem);
    field?.(problem);
    return () => {
      form?.(id, null);
      field?.(null);
    };
  }, [id, problem, form, field]);
}

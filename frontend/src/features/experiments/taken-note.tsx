/**
 * Shows which part of a plan that is too large was chosen, and lets the user choose another size.
 */
import { useState } from "react";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/clipboard";
import { Field, NumberInput } from "@/ui/form";
import styles from "./taken-note.module.css";
import type { TakenState } from "./use-taken";

export function TakenNote({ state }: { state: TakenState }) {
  const { current } = state;
  const [servers, setServers] = useState<number | null>(null);
  if (!current) return null;
  const { sentence, command, outside } = current.fitted;
  return (
    <div className={styles.note} data-testid="taken">
      <p role="status">{sentence}</p>
      {outside.length > 0 && <p>{`Left out: ${outside.map(({ value }) => String(value)).join("; ")}.`}</p>}
      <div className={styles.row}>
        <Field label="Servers, at most" controlWidth={96}>
          {({ id, describedBy }) => (
            <NumberInput
              id={id}
              describedBy={describedBy}
              value={servers}
              onChange={setServers}
              optional
              integer
              min={2}
              max={1024}
              placeholder={String(current.fitted.servers)}
            />
          )}
        </Field>
        <Button
          small
          disabled={servers === null || servers < 2 || state.changing}
          onClick={() => servers !== null && state.another(servers)}
        >
          Take another
        </Button>
        {command && (
          <CopyButton look="quiet" text={command}>
            Copy command
          </CopyButton>
        )}
      </div>
    </div>
  );
}

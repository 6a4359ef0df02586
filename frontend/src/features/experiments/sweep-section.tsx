import { Field, Section } from "@/ui/form";
import { FAILURE_WORDS } from "../shared/run-points";
import {
  DEFAULT_RATIOS,
  type Draft,
  FAILURE_KINDS,
  failuresOf,
  ratiosText,
  readRatios,
  readSeeds,
  seedsOf,
  seedsText,
  withFailures,
  withSeeds,
} from "./draft";
import styles from "./experiments.module.css";
import { type Messages, messageAt } from "./messages";
import { ReadInput } from "./texts";

/** What is varied: failing kinds and ratios, and the seeds that all random choices come from. */
export function SweepSection({
  draft,
  messages,
  onChange,
}: {
  draft: Draft;
  messages: Messages;
  onChange: (draft: Draft) => void;
}) {
  const failures = failuresOf(draft);
  const kinds = failures.map(({ kind }) => kind);
  const ratios = failures[0]?.ratios ?? DEFAULT_RATIOS;
  return (
    <Section title="Sweep">
      <fieldset className={styles.kinds}>
        <legend>More and more of these fail</legend>
        {FAILURE_KINDS.map((kind) => (
          <label key={kind}>
            <input
              type="checkbox"
              checked={kinds.includes(kind)}
              onChange={(event) =>
                onChange(
                  withFailures(
                    draft,
                    event.target.checked ? [...kinds, kind] : kinds.filter((other) => other !== kind),
                    ratios,
                  ),
                )
              }
            />
            {FAILURE_WORDS[kind].many}
          </label>
        ))}
      </fieldset>
      {kinds.length > 0 && (
        <Field label="Shares, %" controlWidth={220} message={messageAt(messages, "axes.failure")}>
          {({ id, describedBy }) => (
            <ReadInput<readonly number[]>
              id={id}
              aria-describedby={describedBy}
              invalid={messageAt(messages, "axes.failure") !== undefined}
              value={ratios}
              text={ratiosText}
              read={readRatios}
              placeholder="0, 5, 10 or 0-20/5"
              onChange={(next) => onChange(withFailures(draft, kinds, next))}
            />
          )}
        </Field>
      )}
      <Field
        label="Seeds"
        controlWidth={220}
        message={messageAt(messages, "seeds") ?? messageAt(messages, "axes.seeds")}
      >
        {({ id, describedBy }) => (
          <ReadInput<readonly number[]>
            id={id}
            aria-describedby={describedBy}
            invalid={messageAt(messages, "seeds") !== undefined}
            value={seedsOf(draft)}
            text={seedsText}
            read={readSeeds}
            placeholder="7 or 7-26"
            onChange={(next) => onChange(withSeeds(draft, next))}
          />
        )}
      </Field>
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={draft.link_load === true}
          onChange={(event) => {
            const { link_load: _, ...rest } = draft;
            onChange((event.target.checked ? { ...rest, link_load: true } : rest) as Draft);
          }}
        />
        Keep what every link carries
      </label>
    </Section>
  );
}

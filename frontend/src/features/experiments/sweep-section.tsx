import { FAILURE_WORDS } from "@/shared/runs/run-points";
import { Field, Section } from "@/ui/form";
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
import { engineOf } from "./engine";
import styles from "./experiments.module.css";
import { type Messages, messageAt } from "./messages";
import { SimulationSection } from "./simulation-section";
import { ReadInput } from "./texts";

/** The values to vary: failing kinds and ratios, and the seeds of all random choices. */
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
  const simulated = engineOf(draft) === "packet";
  return (
    <>
      {simulated && <SimulationSection draft={draft} messages={messages} onChange={onChange} />}
      <Section title="Sweep">
        <fieldset className={styles.kinds}>
          <legend>Increase failures of</legend>
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
              {FAILURE_WORDS[kind]}
            </label>
          ))}
        </fieldset>
        {kinds.length > 0 && (
          <Field label="Failure rates (%)" controlWidth={220} message={messageAt(messages, "axes.failure")}>
            {({ id, describedBy }) => (
              <ReadInput<readonly number[]>
                id={id}
                aria-describedby={describedBy}
                invalid={messageAt(messages, "axes.failure") !== undefined}
                value={ratios}
                text={ratiosText}
                read={readRatios}
                hint="Type percentages from 0 to 100, as in 0, 5, 10 or 0-20/5."
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
              hint="Type up to 1,000 whole numbers, as in 7, 9 or 7-26."
              placeholder="7 or 7-26"
              onChange={(next) => onChange(withSeeds(draft, next))}
            />
          )}
        </Field>
        {!simulated && (
          <label className={styles.check}>
            <input
              type="checkbox"
              checked={draft.link_load === true}
              onChange={(event) => {
                const { link_load: _, ...rest } = draft;
                onChange((event.target.checked ? { ...rest, link_load: true } : rest) as Draft);
              }}
            />
            Save per-link loads
          </label>
        )}
      </Section>
    </>
  );
}

/**
 * Whether the draft can run and its estimated duration, next to the button that runs it; and fixes
 * if it cannot.
 */
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode, RefObject } from "react";
import type { components } from "@/api/schema";
import { getIn, setIn } from "@/shared/plans/spec";
import { useMachine } from "@/shared/server/use-machine";
import { Button } from "@/ui/button";
import { plural } from "@/units";
import { type Draft, pointsOf } from "./draft";
import { engineOf } from "./engine";
import { toEngine } from "./engine-section";
import { secsText } from "./estimate";
import styles from "./experiments.module.css";
import { leadToField, useUnshown } from "./unshown";
import type { ComposerState } from "./use-composer";

export function RunBar({
  draft,
  state,
  fields,
  change,
}: {
  draft: Draft;
  state: ComposerState;
  fields: RefObject<HTMLElement | null>;
  change: (draft: Draft) => void;
}) {
  const { estimate, pending, toCorrect, blocked, starting, messages, taken } = state;
  const machine = useMachine();
  const unshown = useUnshown(messages, fields);
  const missing = engineOf(draft) === "emulation" && machine.data?.ready === false;
  const { offer } = taken;
  const hidden = offer ? [] : [...unshown];
  const onPage = toCorrect - unshown.size;
  return (
    <div className={styles.foot}>
      {missing && (
        <Notice text={lackText(machine.data!)}>
          <Button
            small
            icon="play"
            data-guide="predict-instead"
            onClick={() => change(toEngine(taken.whole(), "flow"))}
          >
            Predict instead
          </Button>
        </Notice>
      )}
      {offer && !missing && <Offer taken={taken} />}
      {hidden.map(([path, message]) => (
        <Notice key={path} text={message} bad>
          <Way path={path} draft={draft} change={change} />
        </Notice>
      ))}
      <div className={styles.run}>
        <span role="status" className={styles.verdict} data-bad={toCorrect > 0 || undefined}>
          {toCorrect > 0
            ? onPage > 0 &&
              !offer && (
                <Button
                  small
                  look="link"
                  onClick={() => fields.current && leadToField(fields.current, messages)}
                >
                  {`${plural(onPage, "field")} to correct`}
                </Button>
              )
            : pending
              ? "Checking…"
              : estimate
                ? `${plural(pointsOf(draft), "point")}, ${secsText(estimate)}`
                : ""}
        </span>
        <Button
          type="submit"
          look="primary"
          icon="play"
          disabled={blocked || missing}
          data-guide={engineOf(draft) === "emulation" ? "run-emulation" : "run"}
        >
          {starting ? "Starting…" : "Run"}
        </Button>
      </div>
    </div>
  );
}

function Notice({ text, bad, children }: { text: string; bad?: boolean; children: ReactNode }) {
  return (
    <div className={styles.notice} role="status" data-bad={bad || undefined}>
      <p>{text}</p>
      {children}
    </div>
  );
}

/** The part that the server would choose from a plan that it rejects, with the omitted parts. */
function Offer({ taken: { offer, accept } }: { taken: ComposerState["taken"] }) {
  if (!offer) return null;
  const { servers, outside, sentence } = offer;
  const size = plural(servers, "server");
  return (
    <div className={styles.notice} role="status" data-testid="offer">
      <p>{sentence}</p>
      {outside.length > 0 && (
        <>
          <p>These are outside of it:</p>
          <ul>
            {outside.map(({ field, value }) => (
              <li key={field}>{String(value)}</li>
            ))}
          </ul>
        </>
      )}
      <Button small icon="wand" data-guide="fit" onClick={accept}>
        {outside.length > 0 ? `Leave them out and take ${size}` : `Take ${size}`}
      </Button>
    </div>
  );
}

/** The fixes for a field that the form does not have. */
function Way({ path, draft, change }: { path: string; draft: Draft; change: (draft: Draft) => void }) {
  const navigate = useNavigate();
  // For a list, removes all of it: the form does not show the messages of its other items either.
  const given = path.replace(/\.\d+(\..*)?$/, "");
  if (getIn(draft, given) !== undefined && !["plan", "workload"].includes(given))
    return (
      <Button small icon="close" onClick={() => change(setIn(draft, given, undefined))}>
        {`Remove ${given}`}
      </Button>
    );
  return (
    <Button
      small
      onClick={() =>
        void navigate({
          from: "/experiments",
          to: ".",
          search: (old) => ({ ...old, as: "json" }),
          replace: true,
        })
      }
    >
      Edit as JSON
    </Button>
  );
}

/** Why this machine cannot emulate, from the first part that it needs and lacks. */
function lackText({ capabilities }: components["schemas"]["Machine"]): string {
  const lacking = capabilities.find(({ available, needed }) => needed && !available);
  if (!lacking) return "This machine cannot run emulations yet.";
  return ["This machine cannot run emulations yet.", `${lacking.title}:`, lacking.reason, lacking.fix]
    .filter(Boolean)
    .join(" ");
}

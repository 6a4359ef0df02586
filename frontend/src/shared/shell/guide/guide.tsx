/**
 * The first minute as a line below the bar, with a frame around the control that it speaks of. It
 * blocks nothing.
 */
import { useEffect, useState } from "react";
import { Button, IconButton } from "@/ui/button";
import { Icon } from "@/ui/icon";
import styles from "./guide.module.css";
import { type Hint, hintFor, STEP_TITLES } from "./guide-hints";
import { STEPS, type Step, useGuide } from "./guide-state";

/** Interval of polling the page, because controls appear and disappear without notice. */
const LOOK_MS = 250;
/** The frame stands so far outside its control. */
const FRAME_PX = 3;

export default function Guide() {
  const { at, next, close } = useGuide();
  if (at === null) return null;
  const step = STEPS[at];
  return (
    <section className={styles.guide} aria-label="First minute">
      <ol className={styles.steps}>
        {STEPS.map((step, i) => (
          <li key={step} aria-current={i === at ? "step" : undefined} data-done={i < at || undefined}>
            {i < at && <Icon name="check" size={14} />}
            {STEP_TITLES[step]}
            {i < at && <span className="visually-hidden"> (done)</span>}
          </li>
        ))}
      </ol>
      {step ? (
        <Pointing key={step} step={step} onNext={next} />
      ) : (
        <p className={styles.text} role="status">
          That is the whole way. Charts, events and the report of the run say how each fault was survived.
        </p>
      )}
      <IconButton small icon="close" label="Close the first minute" onClick={close} />
    </section>
  );
}

/** The instruction of the step, and how to reach its control by keyboard. */
function Pointing({ step, onNext }: { step: Step; onNext: () => void }) {
  const { hint, visible, frame } = usePointing(step);
  return (
    <>
      <p className={styles.text} role="status">
        {hint.text}
      </p>
      {visible && (
        <Button small onClick={() => focusOn(step)}>
          Show me
        </Button>
      )}
      <Button small look="quiet" onClick={onNext}>
        {step === "plan" ? "Next" : "Skip"}
      </Button>
      {frame && <div className={styles.frame} style={frame} data-testid="guide-frame" />}
    </>
  );
}

interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
}

interface Seen {
  hint: Hint;
  /** Its control is on the page. */
  visible: boolean;
  /** Around the control; null while it is scrolled out of sight. */
  frame: Frame | null;
}

/** The current hint of the step, and the position of its control. */
function usePointing(step: Step): Seen {
  const look = (): Seen => {
    const { hint, control } = hintFor(step);
    return { hint, visible: control !== null, frame: control && inSight(control) ? frameOf(control) : null };
  };
  const [seen, setSeen] = useState(look);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `look` depends on the step alone
  useEffect(() => {
    const again = () => setSeen((before) => (same(before, look()) ? before : look()));
    again();
    const timer = setInterval(again, LOOK_MS);
    window.addEventListener("scroll", again, true);
    window.addEventListener("resize", again);
    return () => {
      clearInterval(timer);
      window.removeEventListener("scroll", again, true);
      window.removeEventListener("resize", again);
    };
  }, [step]);
  return seen;
}

const same = (a: Seen, b: Seen): boolean =>
  a.hint === b.hint && a.visible === b.visible && JSON.stringify(a.frame) === JSON.stringify(b.frame);

function frameOf(control: HTMLElement): Frame {
  const box = control.getBoundingClientRect();
  return {
    left: Math.round(box.left) - FRAME_PX,
    top: Math.round(box.top) - FRAME_PX,
    width: Math.round(box.width) + 2 * FRAME_PX,
    height: Math.round(box.height) + 2 * FRAME_PX,
  };
}

/** Whether the middle of the control can be seen: scrolling panels hide what they do not show. */
function inSight(control: HTMLElement): boolean {
  const { left, top, width, height } = control.getBoundingClientRect();
  const shown = document.elementFromPoint(left + width / 2, top + height / 2);
  return shown !== null && (control.contains(shown) || shown.contains(control));
}

/** Moves the focus to the control, or to the first focusable element in it. */
function focusOn(step: Step): void {
  const { control } = hintFor(step);
  if (!control) return;
  control.scrollIntoView({ block: "nearest" });
  const inside = control.querySelector<HTMLElement>("input, select, button, a, [tabindex='0']");
  (control.tabIndex >= 0 ? control : inside)?.focus();
}

import { cx } from "@/ui/cx";
import { Icon, type IconName } from "@/ui/icon";
import styles from "./run-frame.module.css";
import type { RunState } from "./runs";

const LOOKS: Record<RunState, { icon: IconName; look: string | undefined }> = {
  queued: { icon: "history", look: undefined },
  running: { icon: "play", look: styles.running },
  succeeded: { icon: "check", look: styles.succeeded },
  failed: { icon: "error", look: styles.failed },
  cancelled: { icon: "close", look: undefined },
};

/** A run's state in an icon and a word, so that colour is never the only cue. */
export function RunMark({ state }: { state: RunState }) {
  const { icon, look } = LOOKS[state];
  return (
    <span className={cx(styles.mark, look)}>
      <Icon name={icon} size={14} />
      {state}
    </span>
  );
}

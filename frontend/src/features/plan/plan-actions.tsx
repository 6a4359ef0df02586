import type { ReactNode } from "react";
import { Button, IconButton } from "@/ui/button";
import styles from "./plan-page.module.css";
import { isDirty, usePlan } from "./store";

/** The buttons of the bar: undo, ask, pass on, save. */
export function PlanActions({
  save,
  saving,
  canSave,
  predict,
  emulate,
  share,
  children,
}: {
  save: () => void;
  saving: boolean;
  canSave: boolean;
  predict: () => Promise<void>;
  emulate: () => Promise<void>;
  share: () => Promise<void>;
  /** More of them, before the last. */
  children: ReactNode;
}) {
  const canUndo = usePlan((state) => state.history.past.length > 0);
  const canRedo = usePlan((state) => state.history.future.length > 0);
  const saved = usePlan((state) => state.saved);
  const dirty = usePlan(isDirty);
  const { undo, redo } = usePlan.getState();
  return (
    <>
      <IconButton icon="undo" label="Undo" disabled={!canUndo} onClick={undo} />
      <IconButton icon="redo" label="Redo" disabled={!canRedo} onClick={redo} />
      <Button icon="play" onClick={() => void predict()} title="Predict what this plan carries">
        <span className={styles.word}>Predict</span>
      </Button>
      <IconButton icon="pulse" label="Run it with real packets" look="plain" onClick={() => void emulate()} />
      <Button icon="share" onClick={() => void share()}>
        <span className={styles.word}>Share</span>
      </Button>
      {children}
      <Button look="primary" onClick={save} disabled={saving || !canSave}>
        {saving ? "Saving…" : saved && !dirty ? "Saved" : "Save"}
      </Button>
    </>
  );
}

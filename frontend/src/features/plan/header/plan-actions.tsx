import type { ReactNode } from "react";
import { Button, IconButton } from "@/ui/button";
import { isDirty, usePlan } from "../state/store";
import common from "./common.module.css";

/** The buttons of the bar: undo, redo, predict, emulate, share, save. */
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
  /** Further buttons before the last. */
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
      <Button icon="play" data-guide="predict" onClick={() => void predict()} title="Predict throughput">
        <span className={common.word}>Predict</span>
      </Button>
      <Button
        icon="pulse"
        data-guide="emulate"
        onClick={() => void emulate()}
        title="Emulate with real packets"
      >
        <span className={common.word}>Emulate</span>
      </Button>
      <Button icon="share" onClick={() => void share()}>
        <span className={common.word}>Share</span>
      </Button>
      {children}
      <Button look="primary" onClick={save} disabled={saving || !canSave}>
        {saving ? "Saving…" : saved && !dirty ? "Saved" : "Save"}
      </Button>
    </>
  );
}

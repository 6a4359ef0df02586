/** Above the picture: which view, inject mode, zoom. */
import type { RefObject } from "react";
import { Button, IconButton } from "@/ui/button";
import { Tabs } from "@/ui/tabs";
import { saveFile } from "@/units/save-file";
import styles from "./picture-bar.module.css";
import type { TopologyHandle } from "./topology-view";

const VIEWS = [
  { id: "logical", label: "Logical" },
  { id: "floor", label: "Floor" },
] as const;

export type PictureView = (typeof VIEWS)[number]["id"];

export function PictureBar({
  panelId,
  view,
  onView,
  injecting,
  onInjecting,
  flowing,
  handle,
  fileName,
}: {
  panelId: string;
  view: PictureView;
  onView: (view: PictureView) => void;
  injecting: boolean;
  onInjecting: (on: boolean) => void;
  /** The workload flows: something can be broken. */
  flowing: boolean;
  handle: RefObject<TopologyHandle | null>;
  fileName: string;
}) {
  return (
    <div className={styles.bar}>
      <Tabs label="Views" panelId={panelId} value={view} onChange={onView} items={[...VIEWS]} />
      <span className={styles.space} />
      <label
        className={styles.switch}
        data-on={injecting || undefined}
        data-guide={flowing && !injecting ? "inject-mode" : undefined}
      >
        <input
          type="checkbox"
          checked={injecting}
          disabled={!flowing}
          onChange={(event) => onInjecting(event.target.checked)}
        />
        Inject faults
      </label>
      <IconButton small icon="plus" label="Zoom in" onClick={() => handle.current?.zoomIn()} />
      <IconButton small icon="minus" label="Zoom out" onClick={() => handle.current?.zoomOut()} />
      <IconButton small icon="fit" label="Fit to the window" onClick={() => handle.current?.fit()} />
      <Button small onClick={() => void handle.current?.toPngBlob().then((blob) => saveFile(blob, fileName))}>
        PNG
      </Button>
    </div>
  );
}

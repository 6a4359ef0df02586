import { useRef } from "react";
import { useWidth } from "@/charts";
import { momentText, shownNotes } from "@/shared/notes/notes";
import { useNotes } from "@/shared/notes/use-notes";
import { Icon } from "@/ui/icon";
import { AXIS_MARGIN_PX } from "../charts/axis";
import styles from "./note-pins.module.css";
import { pinsOf } from "./pins";

/** A pin is as wide as a finger needs it; two never touch. */
const PIN_PX = 28;

/** The positions of the run's open notes on its time axis. */
export function NotePins({
  runId,
  from,
  to,
  onMoment,
}: {
  runId: string;
  from: number;
  to: number;
  onMoment: (at: number) => void;
}) {
  const body = useRef<HTMLDivElement>(null);
  const width = useWidth(body, 600);
  const notes = useNotes({ run: runId });
  const open = shownNotes(notes.data ?? [], false);
  const space = Math.max(80, width - AXIS_MARGIN_PX.left - AXIS_MARGIN_PX.right);
  const pins = pinsOf(open, ((to - from) * PIN_PX) / space);
  const left = (at: number) => AXIS_MARGIN_PX.left + (space * (at - from)) / Math.max(to - from, 1e-9);
  return (
    <div ref={body} className={styles.pins} data-empty={pins.length === 0 || undefined}>
      {pins.map(({ at, notes: here }) => (
        <button
          key={at}
          type="button"
          className={styles.pin}
          style={{ left: left(at) - PIN_PX / 2 }}
          title={here.map(({ text }) => text).join("\n")}
          aria-label={`${here.length === 1 ? "Note" : `${here.length} notes`} at ${momentText(at)}`}
          onClick={() => onMoment(at)}
        >
          <Icon name="pin" size={14} />
          {here.length > 1 && <span>{here.length}</span>}
        </button>
      ))}
    </div>
  );
}

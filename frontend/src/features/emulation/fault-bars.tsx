/** Every fault as a bar on the time axis, with the stops and where the session stands. */
import { scaleLinear } from "d3-scale";
import { useEffect, useRef, useState } from "react";
import { THEMES, type ThemeName } from "@/units";
import { faultKind } from "../shared/fault-kinds";
import { AXIS_MARGIN_PX } from "./axis";
import styles from "./emulation.module.css";
import { secsText } from "./series";
import { type Session, type Span, spansOf } from "./session";

const ROW_PX = 18;
const ROWS_AT_MOST = 6;
/** Of a letter, about. */
const LETTER_PX = 6;

export function FaultBars({
  session,
  from,
  to,
  at,
  theme,
}: {
  session: Session;
  from: number;
  to: number;
  at: number;
  theme: ThemeName;
}) {
  const body = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const node = body.current;
    if (!node) return;
    const observer = new ResizeObserver(() => setWidth(node.clientWidth));
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  const tokens = THEMES[theme];
  const spans = spansOf(session);
  const ids = [...new Set(spans.map(({ id }) => id))].slice(-ROWS_AT_MOST);
  const x = scaleLinear([from, to], [AXIS_MARGIN_PX.left, Math.max(80, width - AXIS_MARGIN_PX.right)]);
  const rows = Math.max(1, ids.length);
  const height = rows * ROW_PX + 20;
  const end = session.history.at(-1)?.at ?? from;
  const bar = (span: Span, i: number) => {
    const row = ids.indexOf(span.id);
    if (row < 0) return null;
    const [x0, x1] = [
      x(span.from),
      x(span.to ?? (span.waiting ? to : Math.min(to, Math.max(end, span.from)))),
    ];
    const name = nameOf(span);
    const wide = name.length * LETTER_PX + 8;
    // A fault that flaps has a bar each time, and its name once.
    const first = spans.findIndex(({ id }) => id === span.id) === i;
    const place = [
      { x: x0 - 4, anchor: "end", free: x0 - x(from) },
      { x: x1 + 4, anchor: "start", free: x(to) - x1 },
    ].find(({ free }) => first && free >= wide);
    return (
      <g key={`${span.id} ${i}`} transform={`translate(0 ${row * ROW_PX + 3})`}>
        <rect
          x={x0}
          width={Math.max(3, x1 - x0)}
          height={ROW_PX - 6}
          rx={3}
          fill={span.waiting ? "none" : tokens.failed}
          fillOpacity={span.to === null ? 0.85 : 0.5}
          stroke={tokens.failed}
          strokeDasharray={span.waiting ? "3 3" : undefined}
        />
        {place && (
          <text x={place.x} y={10} textAnchor={place.anchor as "end" | "start"} fill={tokens.muted}>
            {name}
          </text>
        )}
        <title>{`${faultKind(span.kind).title}: ${span.targets.join(", ")}`}</title>
      </g>
    );
  };
  return (
    <div ref={body}>
      <svg
        className={styles.bars}
        width={width}
        height={height}
        role="img"
        aria-label={
          spans.length === 0
            ? "No faults"
            : `Faults over time: ${spans.map(({ id, kind, from: begin, to: until }) => `${id} ${faultKind(kind).title} from ${secsText(begin)}${until === null ? "" : ` to ${secsText(until)}`}`).join("; ")}`
        }
      >
        {from < 0 && (
          <rect
            x={x(from)}
            width={x(0) - x(from)}
            y={0}
            height={height - 16}
            fill={tokens.grid}
            fillOpacity={0.6}
          />
        )}
        {spans.length === 0 && (
          <text x={4} y={13} fill={tokens.muted}>
            No faults
          </text>
        )}
        {ids.map((id, row) => (
          <text key={id} x={4} y={row * ROW_PX + 13} fill={tokens.muted}>
            {id}
          </text>
        ))}
        {spans.map(bar)}
        {session.stops.map((stop) => (
          <g key={stop.at_secs} transform={`translate(${x(stop.at_secs)} 0)`}>
            <line y2={height - 16} stroke={tokens.good} strokeWidth={2} />
            <title>{`Stop all, ${secsText(stop.at_secs)}: ${stop.recovered ? "everything recovered" : "not everything came back"}`}</title>
          </g>
        ))}
        <line x1={x(from)} x2={x(to)} y1={height - 16} y2={height - 16} stroke={tokens.rule} />
        {x.ticks(Math.max(2, Math.floor(width / 90))).map((tick) => (
          <text key={tick} x={x(tick)} y={height - 3} textAnchor="middle" fill={tokens.muted}>
            {secsText(tick)}
          </text>
        ))}
        <line x1={x(at)} x2={x(at)} y1={0} y2={height - 16} stroke={tokens.accent} strokeWidth={2} />
      </svg>
    </div>
  );
}

/** "Cable pulled 00/<0,0>", the rest of many as a number. */
const nameOf = ({ kind, targets }: Span): string =>
  `${faultKind(kind).title} ${targets[0] ?? ""}${targets.length > 1 ? ` and ${targets.length - 1} more` : ""}`;

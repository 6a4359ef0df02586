/** Every fault as a bar on the time axis, with the stops and where the session stands. */
import { type ScaleLinear, scaleLinear } from "d3-scale";
import { useRef } from "react";
import { useWidth } from "@/charts";
import { faultKind, faultName } from "@/shared/faults/fault-kinds";
import { THEMES, type ThemeName, type ThemeTokens } from "@/units";
import { AXIS_MARGIN_PX } from "../charts/axis";
import { secsText } from "../session/series";
import { type Session, type Span, scheduledFaults, spansOf } from "../session/session";
import styles from "./fault-bars.module.css";

const ROW_PX = 18;
const ROWS_AT_MOST = 6;
/** Approximate width of a letter. */
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
  const width = useWidth(body, 600);
  const tokens = THEMES[theme];
  const spans = spansOf(session);
  const scheduled = scheduledFaults(session);
  const ids = [...new Set(spans.map(({ id }) => id))].slice(-ROWS_AT_MOST);
  const x = scaleLinear([from, to], [AXIS_MARGIN_PX.left, Math.max(80, width - AXIS_MARGIN_PX.right)]);
  const rows = Math.max(1, ids.length);
  const height = rows * ROW_PX + 20;
  const end = session.history.at(-1)?.at ?? from;
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
            : `Faults over time: ${spans.map(({ id, kind, from: begin, to: until }) => `${faultName(id, scheduled)} ${faultKind(kind).title} from ${secsText(begin)}${until === null ? "" : ` to ${secsText(until)}`}`).join("; ")}`
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
            {faultName(id, scheduled)}
          </text>
        ))}
        {spans.map((span, i) => (
          <FaultBar
            key={`${span.id} ${i}`}
            span={span}
            row={ids.indexOf(span.id)}
            // A fault that flaps has a bar each time, and its name once.
            named={spans.findIndex(({ id }) => id === span.id) === i}
            x={x}
            end={end}
            tokens={tokens}
          />
        ))}
        {session.stops.map((stop) => (
          <g key={stop.at_secs} transform={`translate(${x(stop.at_secs)} 0)`}>
            <line y2={height - 16} stroke={tokens.good} strokeWidth={2} />
            <title>{`All faults recovered, ${secsText(stop.at_secs)}: ${stop.recovered ? "everything recovered" : "not everything recovered"}`}</title>
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

/** One period of a fault, with its name if there is space next to the bar. */
function FaultBar({
  span,
  row,
  named,
  x,
  end,
  tokens,
}: {
  span: Span;
  /** Negative when the fault has no row. */
  row: number;
  named: boolean;
  x: ScaleLinear<number, number>;
  /** Time of the last tick, where a fault that has not ended ends so far. */
  end: number;
  tokens: ThemeTokens;
}) {
  if (row < 0) return null;
  const [from, to] = x.domain() as [number, number];
  const until = span.to ?? (span.waiting ? to : Math.min(to, Math.max(end, span.from)));
  const [x0, x1] = [x(span.from), x(until)];
  const name = nameOf(span);
  const wide = name.length * LETTER_PX + 8;
  const place = [
    { x: x0 - 4, anchor: "end", free: x0 - x(from) },
    { x: x1 + 4, anchor: "start", free: x(to) - x1 },
  ].find(({ free }) => named && free >= wide);
  return (
    <g transform={`translate(0 ${row * ROW_PX + 3})`}>
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
}

/** "Cable pulled 00/<0,0>", the rest of many as a number. */
const nameOf = ({ kind, targets }: Span): string =>
  `${faultKind(kind).title} ${targets[0] ?? ""}${targets.length > 1 ? ` and ${targets.length - 1} more` : ""}`;

import { useNavigate } from "@tanstack/react-router";
import type { SearchMetric } from "@/api/types";
import { Scatter } from "@/charts";
import answer from "@/shared/answers/answer-page.module.css";
import { encodeSpec } from "@/shared/plans/share";
import { ColumnHeads } from "@/ui/column-heads";
import { cx } from "@/ui/cx";
import { useTheme } from "@/ui/theme";
import { formatNumber, formatShort } from "@/units";
import type { Values } from "./question";
import styles from "./search.module.css";
import type { FoundPoint, SearchDocument, SearchState } from "./use-search";

interface Props {
  search: SearchState;
  submitted: Values;
  metrics: readonly SearchMetric[];
}

export function FrontView({ search, submitted, metrics }: Props) {
  const theme = useTheme(({ name }) => name);
  const navigate = useNavigate();
  const { document } = search;
  const open = async (point: FoundPoint) => {
    await navigate({ to: "/plans/new", search: { spec: await encodeSpec(point.spec) } });
  };
  const metric = (name: string) => metrics.find((metric) => metric.name === name);
  const [x, y] = [metric(submitted.minimise), metric(submitted.maximise)];
  const front = [...search.front].sort(
    (a, b) => (a.values[submitted.minimise] ?? 0) - (b.values[submitted.minimise] ?? 0),
  );
  const points = [
    ...front.map((candidate) => ({ candidate, best: true })),
    ...search.others.map((candidate) => ({ candidate, best: false })),
  ]
    .filter(
      ({ candidate }) =>
        x && y && candidate.values[x.name] !== undefined && candidate.values[y.name] !== undefined,
    )
    .map(({ candidate, best }) => ({
      id: String(candidate.number),
      label: candidate.title,
      x: candidate.values[x!.name]!,
      y: candidate.values[y!.name]!,
      best,
      short: !candidate.meets,
    }));
  const provenance = document
    ? `Modelled; engine ${document.engine_version}; ${document.book.book} version ${document.book.version}; seeds ${submitted.seeds}`
    : "Modelled; the search goes on";
  return (
    <>
      {x && y && points.length > 0 && (
        <Scatter
          title={`${x.title} and ${y.title}`}
          theme={theme}
          provenance={provenance}
          points={points}
          xLabel={withUnit(x, document?.book.currency)}
          yLabel={withUnit(y, document?.book.currency)}
          xFormat={(value) => formatShort(value, 2)}
          yFormat={(value) => formatShort(value, 2)}
          onOpen={(id) => void open(front.find((item) => String(item.number) === id)!)}
        />
      )}
      {front.length > 0 && (
        <FrontTable
          front={front}
          submitted={submitted}
          metrics={metrics}
          currency={document?.book.currency}
          onOpen={(point) => void open(point)}
        />
      )}
      {document && <Tally document={document} metrics={metrics} />}
    </>
  );
}

/** Amounts are in the price book's currency, which arrives at the end of the search. */
const withUnit = (metric: SearchMetric, currency = "") => {
  const unit = metric.unit === "money" ? currency : metric.unit;
  return unit === "" ? metric.title : `${metric.title} (${unit})`;
};

function FrontTable({
  front,
  submitted,
  metrics,
  currency,
  onOpen,
}: {
  front: readonly FoundPoint[];
  submitted: Values;
  metrics: readonly SearchMetric[];
  currency: string | undefined;
  onOpen: (point: FoundPoint) => void;
}) {
  const named = new Set([
    "servers",
    submitted.minimise,
    submitted.maximise,
    ...submitted.rows.map(({ metric }) => metric),
  ]);
  const shown = metrics.filter(({ name }) => named.has(name));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={answer.scroll} aria-label="Plans on the front" tabIndex={0}>
      <table className={cx(answer.table, styles.table)}>
        <ColumnHeads columns={["Plan", ...shown.map((metric) => withUnit(metric, currency))]} />
        <tbody>
          {front.map((point) => (
            <tr key={point.number}>
              <th scope="row">
                <button
                  type="button"
                  className={cx("text-button", styles.open)}
                  onClick={() => onOpen(point)}
                >
                  {point.title}
                </button>
                {point.unharmed && <span className={answer.note}> nothing fails in it</span>}
              </th>
              {shown.map(({ name }) => (
                <td key={name}>{text(point.values[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const text = (value: number | undefined) =>
  value === undefined ? "–" : formatNumber(value, Number.isInteger(value) || value >= 1000 ? 0 : 2);

/** Where the candidates ended. */
function Tally({ document, metrics }: { document: SearchDocument; metrics: readonly SearchMetric[] }) {
  const title = (name: string) => metrics.find((metric) => metric.name === name)?.title ?? name;
  const n = (value: number) => formatNumber(value);
  return (
    <>
      <p className={answer.note}>
        {n(document.candidates)} candidates of {n(document.servers.least)} to {n(document.servers.most)}{" "}
        servers, {n(document.priced)} priced, {n(document.no_price)} without a price for every part.{" "}
        {n(document.feasible)} could keep the constraints: throughput of {n(document.evaluated)} computed,{" "}
        {n(document.passed_over)} passed over because a bound shows that they cannot win.
      </p>
      {!document.complete && (
        <p className={answer.wrong} role="alert">
          {n(document.unexplored)} candidates were not looked at, so the front may be incomplete. Tighten the
          constraints.
        </p>
      )}
      <table className={cx(answer.table, styles.table)}>
        <caption>Left out by each constraint</caption>
        <ColumnHeads columns={["Constraint", "Candidates", "Nearest value"]} />
        <tbody>
          {document.constraints.map((constraint, index) => (
            <tr key={index}>
              <th scope="row">{title(constraint.metric)}</th>
              <td>{n(constraint.left_out)}</td>
              <td>{constraint.nearest === null ? "–" : text(constraint.nearest)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { serverPath } from "@/api/base";
import type { CompareResponse, CompareRow } from "@/api/types";
import type { ComparedRef } from "@/shared/plans/refs";
import { encodeSpec } from "@/shared/plans/share";
import { Button, IconButton } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { Badge, Delta } from "@/ui/marks";
import { plural } from "@/units";
import styles from "./compare-page.module.css";
import { differenceText, formatterOf, isMoney } from "./format";

/** `lower` and `higher` of the API in the page's words. */
const BETTER = { lower: "less", higher: "more", neither: "neither" } as const;

/**
 * Rows of metrics, columns of plans: values, changes against the base, and bars on one scale a row.
 */
export function CompareTable({
  data,
  refs,
  base,
  stale,
  onBase,
  onRemove,
  onWorkOrder,
  above,
  children,
}: {
  data: CompareResponse;
  refs: ComparedRef[];
  base: number;
  stale: boolean;
  onBase: (at: number) => void;
  onRemove: (at: number) => void;
  onWorkOrder: (at: number) => void;
  /** Content above the table that scrolls with it. */
  above?: ReactNode;
  /** Content below the table that scrolls with it. */
  children?: ReactNode;
}) {
  const groups = useMemo(() => {
    const byGroup = new Map<string, CompareRow[]>();
    for (const row of data.rows) byGroup.set(row.group, [...(byGroup.get(row.group) ?? []), row]);
    return [...byGroup];
  }, [data]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={styles.scroll} data-stale={stale} aria-label="Comparison" tabIndex={0}>
      {above}
      <table className={styles.table} style={{ minWidth: 200 + 240 * data.plans.length }}>
        <thead>
          <tr>
            <th scope="col" className={styles.metric}>
              <span className="visually-hidden">Metric</span>
            </th>
            {data.plans.map((plan, at) => (
              <th key={refs[at]?.ref ?? at} scope="col" className={at === base ? styles.base : undefined}>
                <div className={styles.planHead}>
                  <PlanLink refOf={refs[at]} name={plan.name} />
                  <IconButton small icon="close" label={`Remove ${plan.name}`} onClick={() => onRemove(at)} />
                </div>
                <div className={styles.planDetail}>
                  {plan.title}
                  {plan.revision !== null && ` · r${plan.revision}`}
                </div>
                <div className={styles.planTools}>
                  {at === base ? (
                    <Badge>Base</Badge>
                  ) : (
                    <>
                      <Button small onClick={() => onBase(at)}>
                        Make base
                      </Button>
                      <Button small look="quiet" onClick={() => onWorkOrder(at)}>
                        Migration work order
                      </Button>
                    </>
                  )}
                  {!plan.certificate_passed && (
                    <Badge title="Wiring certificate: failed">certificate fails</Badge>
                  )}
                  {plan.findings > 0 && (
                    <span className={styles.planDetail}>{plural(plan.findings, "finding")}</span>
                  )}
                </div>
              </th>
            ))}
          </tr>
        </thead>
        {groups.map(([group, rows]) => (
          <tbody key={group}>
            <tr>
              <th scope="rowgroup" className={styles.group}>
                {group}
              </th>
              {data.plans.map((_, at) => (
                <td key={at} className={at === base ? styles.base : undefined} />
              ))}
            </tr>
            {rows.map((row) => (
              <MetricRow key={row.metric} row={row} base={base} atLeast={data.plans.map((p) => p.at_least)} />
            ))}
          </tbody>
        ))}
      </table>
      {children}
    </section>
  );
}

function MetricRow({ row, base, atLeast }: { row: CompareRow; base: number; atLeast: boolean[] }) {
  const format = formatterOf(row.metric, row.unit);
  const top = Math.max(...row.values.map((v) => v ?? 0), 0);
  const better = BETTER[row.better];
  return (
    <tr>
      <th scope="row" className={styles.metric}>
        {row.title}
      </th>
      {row.values.map((value, at) => {
        const delta = row.deltas[at];
        const best = row.best.includes(at);
        return (
          <td key={at} className={at === base ? styles.base : undefined}>
            <div className={styles.cell}>
              <span className={best ? styles.best : undefined}>
                {isMoney(row.unit) && atLeast[at] && value !== null && (
                  <abbr title="lower bound: some parts have no price">≥</abbr>
                )}
                {format(value)}
                {isMoney(row.unit) ? (
                  <Converted rated={value !== null} note={row.notes[at] ?? ""} />
                ) : (
                  <Exactness exact={row.exact[at] ?? null} note={row.notes[at] ?? ""} />
                )}
                {best && (
                  <span className={styles.bestMark} title="Best value">
                    <Icon name="check" size={12} />
                    <span className="visually-hidden">best</span>
                  </span>
                )}
              </span>
              {at !== base && delta !== null && delta !== undefined && delta !== 0 && (
                <Delta
                  value={delta}
                  better={better}
                  text={differenceText(row.metric, row.unit, value, row.values[base])}
                />
              )}
            </div>
            <div className={styles.bar} aria-hidden="true">
              <span
                data-base={at === base}
                style={{ width: `${top > 0 && value !== null ? (100 * value) / top : 0}%` }}
              />
            </div>
          </td>
        );
      })}
    </tr>
  );
}

/** Shows whether and how an amount in another currency than the base's was converted. */
function Converted({ rated, note }: { rated: boolean; note: string }) {
  if (note === "") return null;
  return (
    <span className={styles.exactness} title={note}>
      {rated ? "converted" : "no rate"}
      <span className="visually-hidden">: {note}</span>
    </span>
  );
}

/** Shows whether the value of a closed form is exact or only a bound, and how to read it. */
function Exactness({ exact, note }: { exact: boolean | null; note: string }) {
  if (exact === null || (exact && note === "")) return null;
  return (
    <span className={styles.exactness} title={note}>
      {exact ? "exact" : "bound"}
      <span className="visually-hidden">{note && `: ${note}`}</span>
    </span>
  );
}

function PlanLink({ refOf, name }: { refOf: ComparedRef | undefined; name: string }) {
  const navigate = useNavigate();
  if (!refOf) return <>{name}</>;
  if (refOf.id)
    return (
      <Link to="/plans/$id" params={{ id: refOf.id }} search={{ revision: refOf.revision }}>
        {name}
      </Link>
    );
  return (
    <a
      href={serverPath("/plans/new")}
      onClick={async (event) => {
        event.preventDefault();
        await navigate({ to: "/plans/new", search: { spec: await encodeSpec(refOf.spec!) } });
      }}
    >
      {name}
    </a>
  );
}

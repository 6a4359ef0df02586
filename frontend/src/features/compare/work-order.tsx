import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, take } from "@/api/client";
import type { WorkOrder } from "@/api/types";
import type { ComparedRef } from "@/shared/plans/refs";
import { ProblemView } from "@/shared/server/problem";
import { Button } from "@/ui/button";
import { type Column, DataTable } from "@/ui/data-table";
import { Icon } from "@/ui/icon";
import { Skeleton } from "@/ui/marks";
import { ModalDialog } from "@/ui/overlay";
import { csvOf, type SortBy } from "@/ui/table-order";
import { Tabs } from "@/ui/tabs";
import { toast } from "@/ui/toast";
import { formatCount, formatMillimetres } from "@/units";
import { saveFile } from "@/units/save-file";
import styles from "./work-order.module.css";

type Action = "all" | "add" | "move" | "remove" | "keep";
const ACTIONS: Action[] = ["all", "add", "move", "remove", "keep"];

/**
 * The work order that changes one plan's cabling into the other's. Both must be saved, because the
 * API names plans by id.
 */
export default function WorkOrderDialog({
  before,
  after,
  names,
  onClose,
  onSaved,
}: {
  before: ComparedRef;
  after: ComparedRef;
  names: [string, string];
  onClose: () => void;
  /** The new ids by the references they replace. */
  onSaved: (ids: Map<string, string>) => void;
}) {
  const saved = before.id !== undefined && after.id !== undefined;
  const query = useQuery({
    queryKey: ["diff", before.id, before.revision, after.id, after.revision],
    enabled: saved,
    queryFn: ({ signal }) =>
      take(
        api.GET("/api/v1/plans/{id}/diff/{other}", {
          params: {
            path: { id: before.id!, other: after.id! },
            query: { revision: before.revision, other_revision: after.revision },
          },
          signal,
        }),
      ),
  });
  return (
    <ModalDialog
      title={`Migration work order: ${names[0]} to ${names[1]}`}
      isOpen
      onClose={onClose}
      width={1000}
    >
      {!saved ? (
        <SaveFirst plans={[before, after]} names={names} onSaved={onSaved} />
      ) : query.isError ? (
        <ProblemView error={query.error} onRetry={() => void query.refetch()} />
      ) : query.data ? (
        <Order order={query.data} />
      ) : (
        <Skeleton height={320} />
      )}
    </ModalDialog>
  );
}

/** The API names plans by id, so both must be saved before their difference can be requested. */
function SaveFirst({
  plans,
  names,
  onSaved,
}: {
  plans: [ComparedRef, ComparedRef];
  names: [string, string];
  onSaved: (ids: Map<string, string>) => void;
}) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const missing = plans.flatMap((plan, at) => (plan.id === undefined ? [{ plan, name: names[at]! }] : []));
  const save = async () => {
    setBusy(true);
    try {
      const ids = new Map<string, string>();
      for (const { plan, name } of missing) {
        const made = await take(api.POST("/api/v1/plans", { body: { name, spec: plan.spec!, note: "" } }));
        ids.set(plan.ref, made.id);
      }
      await client.invalidateQueries({ queryKey: ["plans"] });
      onSaved(ids);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), "error");
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className={styles.save}>
      <p>
        A migration work order needs two saved plans. {missing.map(({ name }) => `“${name}”`).join(" and ")}{" "}
        {missing.length === 1 ? "is" : "are"} not saved yet.
      </p>
      <Button look="primary" disabled={busy} onClick={() => void save()}>
        {busy ? "Saving…" : `Save ${missing.length === 1 ? "it" : "both"} and show the work order`}
      </Button>
    </div>
  );
}

function Order({ order }: { order: WorkOrder }) {
  const [action, setAction] = useState<Action>("all");
  const [sort, setSort] = useState<SortBy | null>(null);
  const columns = useMemo(() => columnsOf(order), [order]);
  const broken = useMemo(() => hasBreakouts(order), [order]);
  const names = order.actions;
  const actionOf = useMemo(() => {
    const raw = order.columns.action ?? [];
    return (row: number) =>
      typeof raw[row] === "number" ? (names[raw[row] as number] ?? "") : String(raw[row] ?? "");
  }, [order, names]);
  const count = order.columns.action?.length ?? 0;
  const rows = useMemo(
    () =>
      Array.from({ length: count }, (_, at) => at).filter(
        (row) => action === "all" || actionOf(row) === action,
      ),
    [count, action, actionOf],
  );
  return (
    <div className={styles.order}>
      {order.claims.length > 0 && (
        <ul className={styles.claims}>
          {order.claims.map((claim) => (
            <li key={claim.name} data-holds={claim.holds}>
              <Icon name={claim.holds ? "check" : "close"} />
              <span>
                <strong>{claim.statement}</strong> {claim.holds ? "Holds." : "Does not hold."}{" "}
                <span className={styles.muted}>{claim.detail}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
      <div className={styles.bar}>
        <Tabs
          label="Actions"
          panelId="work-order-table"
          value={action}
          onChange={setAction}
          items={ACTIONS.map((id) => ({
            id,
            label: id === "all" ? "All" : id[0]!.toUpperCase() + id.slice(1),
            detail: id === "all" ? undefined : formatCount(order.counts[id]),
          }))}
        />
        {broken && (
          <span className={styles.muted}>
            Counted are cables; each leg of a breakout cable is a row, and legs with the same number are
            handled together.
          </span>
        )}
        <Button
          small
          icon="export"
          onClick={() =>
            saveFile(
              csvOf(
                columns.map((c) => c.title),
                rows.map((row) => columns.map((c) => c.text(row))),
              ),
              "work-order.csv",
            )
          }
        >
          CSV
        </Button>
      </div>
      <div id="work-order-table" role="tabpanel" className={styles.table}>
        <DataTable
          label="Migration work order"
          columns={columns}
          rows={rows}
          sort={sort}
          onSort={setSort}
          empty="No cables of this kind."
        />
      </div>
    </div>
  );
}

/**
 * Whether legs share a cable. Most orders have one cable per row, for which a number would be
 * useless.
 */
function hasBreakouts(order: WorkOrder): boolean {
  return new Set(order.columns.cable).size < order.columns.cable.length;
}

const TITLES: Record<string, [title: string, width: number]> = {
  cable: ["Cable", 64],
  action: ["Action", 72],
  reason: ["Reason", 130],
  end_a: ["End A", 120],
  end_b: ["End B", 120],
  from: ["Current label", 190],
  to: ["New label", 190],
  label: ["Label", 190],
  length_mm: ["Length", 72],
};

/**
 * All columns of the order, in its order; indices into its word lists are replaced by the words.
 */
function columnsOf(order: WorkOrder): Column[] {
  const lists: Record<string, string[] | undefined> = {
    action: order.actions,
    reason: order.reasons,
  };
  return Object.entries(order.columns)
    .filter(([name]) => name in TITLES && (name !== "cable" || hasBreakouts(order)))
    .map(([name, values]) => {
      const [title, width] = TITLES[name]!;
      const words = lists[name];
      return {
        id: name,
        title,
        width,
        align: name === "length_mm" || name === "cable" ? ("end" as const) : undefined,
        mono: name === "from" || name === "to",
        text: (row: number) => {
          const value = values[row];
          if (value === null || value === undefined) return "";
          if (name === "length_mm") return formatMillimetres(Number(value));
          if (name === "cable") return formatCount(Number(value) + 1);
          return words && typeof value === "number" ? (words[value] ?? "") : String(value);
        },
        sort: (row: number) =>
          typeof values[row] === "number" ? (values[row] as number) : String(values[row] ?? ""),
      };
    });
}

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, take } from "@/api/client";
import { Button, IconButton } from "@/ui/button";
import { TextInput } from "@/ui/form";
import { Icon } from "@/ui/icon";
import { DialogTrigger, PopoverPanel, TriggerButton } from "@/ui/overlay";
import { toast } from "@/ui/toast";
import { formatCount, formatUsd } from "@/units";
import { formatDate } from "../shared/dates";
import { EXAMPLES } from "../shared/examples";
import { encodeSpec } from "../shared/share";
import type { PlanSpec } from "../shared/spec";
import styles from "./header.module.css";

export function useRecentPlans(limit = 12) {
  return useQuery({
    queryKey: ["plans", limit],
    queryFn: ({ signal }) => take(api.GET("/api/v1/plans", { params: { query: { limit } }, signal })),
  });
}

/** A link to a spec nobody saved. */
export function useOpenSpec() {
  const navigate = useNavigate();
  return async (spec: PlanSpec) => {
    await navigate({ to: "/plans/new", search: { spec: await encodeSpec(spec) } });
  };
}

/** The plan's name in the bar: rename it, open another one, start from an example. */
export function PlanMenu({
  name,
  dirty,
  saved,
  onRename,
  onDelete,
}: {
  name: string;
  dirty: boolean;
  saved: boolean;
  onRename: (name: string) => Promise<void>;
  onDelete: () => Promise<void>;
}) {
  const openSpec = useOpenSpec();
  return (
    <DialogTrigger>
      <TriggerButton className={styles.name} aria-label={`Plan: ${name}${dirty ? ", not saved" : ""}`}>
        <span>{name}</span>
        {dirty && <i className={styles.dirty} title="Changes that are not saved" />}
        <Icon name="chevron" size={12} />
      </TriggerButton>
      <PopoverPanel label="Plans" width={340}>
        {(close) => (
          <div className={styles.plans}>
            <NameForm name={name} onRename={async (next) => onRename(next).then(close)} />
            <PlanList onChoose={close} />
            <h3>Examples, 2,048 servers each</h3>
            <ul>
              {EXAMPLES.map((example) => (
                <li key={example.slug} className={styles.row}>
                  <a
                    href="/plans/new"
                    className={styles.entry}
                    onClick={(event) => {
                      event.preventDefault();
                      close();
                      void openSpec(example.spec);
                    }}
                  >
                    <span>{example.title}</span>
                    <span>{example.detail}</span>
                  </a>
                </li>
              ))}
            </ul>
            {saved && (
              <div>
                <Button
                  small
                  look="quiet"
                  icon="trash"
                  onClick={() => {
                    close();
                    void onDelete();
                  }}
                >
                  Delete this plan…
                </Button>
              </div>
            )}
          </div>
        )}
      </PopoverPanel>
    </DialogTrigger>
  );
}

function NameForm({ name, onRename }: { name: string; onRename: (name: string) => Promise<void> }) {
  const [text, setText] = useState(name);
  return (
    <form
      className={styles.nameForm}
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() && text.trim() !== name) void onRename(text.trim());
      }}
    >
      <TextInput
        aria-label="Plan name"
        maxLength={120}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" disabled={!text.trim() || text.trim() === name}>
        Rename
      </Button>
    </form>
  );
}

function PlanList({ onChoose }: { onChoose: () => void }) {
  const recent = useRecentPlans();
  const items = recent.data?.items ?? [];
  return (
    <>
      <h3>Saved plans</h3>
      {items.length === 0 && (
        <p className={styles.muted} style={{ padding: "4px 8px" }}>
          {recent.isPending
            ? "Loading…"
            : recent.isError
              ? recent.error.message
              : "None yet: Save keeps this one."}
        </p>
      )}
      <ul>
        {items.map((plan) => (
          <li key={plan.id} className={styles.row}>
            <Link to="/plans/$id" params={{ id: plan.id }} className={styles.entry} onClick={onChoose}>
              <span>{plan.name}</span>
              <span>
                {formatCount(plan.counts.servers)} servers · {formatUsd(plan.cost_usd_total)}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Earlier revisions: look at one, or make its content the plan's again. */
export function RevisionMenu({
  id,
  revision,
  onRevert,
}: {
  id: string;
  revision: number;
  onRevert: (revision: number) => Promise<void>;
}) {
  return (
    <DialogTrigger>
      <TriggerButton className={styles.name} aria-label={`Revision ${revision}: history`}>
        <Icon name="history" />
        <span>r{revision}</span>
      </TriggerButton>
      <PopoverPanel label="Revisions" width={380}>
        {(close) => <RevisionList id={id} revision={revision} onRevert={onRevert} close={close} />}
      </PopoverPanel>
    </DialogTrigger>
  );
}

function RevisionList({
  id,
  revision,
  onRevert,
  close,
}: {
  id: string;
  revision: number;
  onRevert: (revision: number) => Promise<void>;
  close: () => void;
}) {
  const client = useQueryClient();
  const list = useQuery({
    queryKey: ["revisions", id],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/plans/{id}/revisions", { params: { path: { id } }, signal })),
  });
  const head = list.data?.head_revision;
  return (
    <ul className={styles.revisions}>
      {list.isPending && <li className={styles.muted}>Loading…</li>}
      {list.isError && <li className={styles.muted}>{list.error.message}</li>}
      {list.data?.items.map((item) => (
        <li key={item.revision} className={styles.revision} data-current={item.revision === revision}>
          <span className={styles.revisionNumber}>r{item.revision}</span>
          <span>
            {item.title}
            <div className={styles.muted}>
              {formatDate(new Date(item.created_at))}
              {item.kind === "revert" && ` · back to r${item.reverted_from}`}
              {item.note && ` · ${item.note}`}
            </div>
          </span>
          <span className={styles.row}>
            {item.revision !== revision && (
              <Link
                to="/plans/$id"
                params={{ id }}
                search={item.revision === head ? {} : { revision: item.revision }}
                className={styles.entry}
                onClick={close}
              >
                <span>View</span>
              </Link>
            )}
            {item.revision !== head && (
              <IconButton
                small
                icon="undo"
                label={`Make revision ${item.revision} current again`}
                onClick={async () => {
                  close();
                  await onRevert(item.revision);
                  await client.invalidateQueries({ queryKey: ["revisions", id] });
                  toast(`Revision ${item.revision} is current again`);
                }}
              />
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

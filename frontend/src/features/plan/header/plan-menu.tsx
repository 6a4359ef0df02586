import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { serverPath } from "@/api/base";
import { EXAMPLES } from "@/shared/plans/examples";
import { Button } from "@/ui/button";
import { TextInput } from "@/ui/form";
import { Icon } from "@/ui/icon";
import { DialogTrigger, PopoverPanel, TriggerButton } from "@/ui/overlay";
import { formatCount, formatMoney } from "@/units";
import { chooseFile, useImport } from "../import/use-import";
import { useOpenSpec, useRecentPlans } from "../state/use-plans";
import common from "./common.module.css";
import styles from "./plan-menu.module.css";

/** The plan's name in the bar: rename it, open another one, start from an example. */
export function PlanMenu({
  name,
  dirty,
  saved,
  onRename,
  onDelete,
  onCrew,
  onAsBuilt,
}: {
  name: string;
  dirty: boolean;
  saved: boolean;
  onRename: (name: string) => Promise<void>;
  onDelete: () => Promise<void>;
  onCrew: () => Promise<void>;
  onAsBuilt: () => Promise<void>;
}) {
  const openSpec = useOpenSpec();
  const openFiles = useImport();
  return (
    <DialogTrigger>
      <TriggerButton className={common.name} aria-label={`Plan: ${name}${dirty ? ", not saved" : ""}`}>
        <span>{name}</span>
        {dirty && <i className={styles.dirty} title="Unsaved changes" />}
        <Icon name="chevron" size={12} />
      </TriggerButton>
      <PopoverPanel label="Plans" width={340}>
        {(close) => (
          <div className={styles.plans}>
            <NameForm name={name} onRename={async (next) => onRename(next).then(close)} />
            <div className={styles.orders}>
              <Button
                icon="plus"
                onClick={() => {
                  close();
                  chooseFile((files) => void openFiles(files));
                }}
              >
                Open a file…
              </Button>
              <Button
                icon="check"
                onClick={() => {
                  close();
                  void onCrew();
                }}
              >
                Crew mode
              </Button>
              <Button
                icon="compare"
                onClick={() => {
                  close();
                  void onAsBuilt();
                }}
              >
                As built
              </Button>
            </div>
            <PlanList onChoose={close} />
            <h3>Examples, 2,048 servers each</h3>
            <ul>
              {EXAMPLES.map((example) => (
                <li key={example.slug} className={styles.row}>
                  <a
                    href={serverPath("/plans/new")}
                    className={common.entry}
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
        <p className="muted tight" style={{ padding: "4px 8px" }}>
          {recent.isPending ? "Loading…" : recent.isError ? recent.error.message : "No saved plans yet."}
        </p>
      )}
      <ul>
        {items.map((plan) => (
          <li key={plan.id} className={styles.row}>
            <Link to="/plans/$id" params={{ id: plan.id }} className={common.entry} onClick={onChoose}>
              <span>{plan.name}</span>
              <span>
                {formatCount(plan.counts.servers)} servers · {formatMoney(plan.cost_usd_total, plan.currency)}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

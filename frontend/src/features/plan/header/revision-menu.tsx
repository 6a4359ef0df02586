import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, take } from "@/api/client";
import { buttonClass, IconButton } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { DialogTrigger, PopoverPanel, TriggerButton } from "@/ui/overlay";
import { toast } from "@/ui/toast";
import { formatDate } from "@/units";
import common from "./common.module.css";
import styles from "./revision-menu.module.css";

/** Earlier revisions: view one, or revert the plan to it. */
export default function RevisionMenu({
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
      <TriggerButton className={common.name} aria-label={`Revision ${revision}: history`}>
        <Icon name="history" />
        <span>r{revision}</span>
      </TriggerButton>
      <PopoverPanel label="Revisions" width={380}>
        {(close) => <RevisionList id={id} revision={revision} onRevert={onRevert} close={close} />}
      </PopoverPanel>
    </DialogTrigger>
  );
}

/** Two revisions of a plan for the compare page, the earlier one first. */
const pairOf = (id: string, a: number, b: number): string =>
  `${id}@${Math.min(a, b)},${id}@${Math.max(a, b)}`;

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
    <>
      <ul className={styles.revisions}>
        {list.isPending && <li className="muted tight">Loading…</li>}
        {list.isError && <li className="muted tight">{list.error.message}</li>}
        {list.data?.items.map((item) => (
          <li key={item.revision} className={styles.revision} data-current={item.revision === revision}>
            <span className={styles.revisionNumber}>r{item.revision}</span>
            <span>
              {item.title}
              <div className="muted tight">
                {formatDate(item.created_at)}
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
                  className={common.entry}
                  onClick={close}
                >
                  <span>View</span>
                </Link>
              )}
              {item.revision !== revision && (
                <Link
                  to="/compare"
                  search={{ plans: pairOf(id, item.revision, revision) }}
                  className={buttonClass("quiet", true, true)}
                  title={`Compare with revision ${item.revision}`}
                  aria-label={`Compare with revision ${item.revision}`}
                  onClick={close}
                >
                  <Icon name="compare" size={14} />
                </Link>
              )}
              {item.revision !== head && (
                <IconButton
                  small
                  icon="undo"
                  label={`Restore revision ${item.revision}`}
                  onClick={async () => {
                    close();
                    await onRevert(item.revision);
                    await client.invalidateQueries({ queryKey: ["revisions", id] });
                    toast(`Revision ${item.revision} restored`);
                  }}
                />
              )}
            </span>
          </li>
        ))}
      </ul>
      <p className={styles.foot}>
        <Link to="/changes" search={{ plan: id }} onClick={close}>
          Who changed this plan and when
        </Link>
      </p>
    </>
  );
}

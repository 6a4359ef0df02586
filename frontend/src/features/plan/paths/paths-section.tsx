/**
 * The parallel paths of two servers, highlighted in the drawing, one by one or all; unplugging a
 * cable reroutes the path.
 */
import { useEffect, useId, useMemo, useRef, useState } from "react";
import type { PlanModel } from "@/scene/model";
import { type Selection, sameSelection } from "@/scene/selection";
import { ProblemView } from "@/shared/server/problem";
import { useGuide } from "@/shared/shell/guide/guide-state";
import { Button } from "@/ui/button";
import { TextInput } from "@/ui/form";
import { Skeleton } from "@/ui/marks";
import { plural } from "@/units";
import type { Computed } from "../state/preview";
import type { useSelection } from "../state/use-plan-view";
import styles from "./paths-section.module.css";
import { type ServerPath, type ServerPaths, usePaths } from "./use-paths";

type Marked = ReturnType<typeof useSelection>;
/** The highlighted paths: all, or one by its index. */
type Lit = "all" | number;

const REASONS: Record<NonNullable<ServerPaths["reason"]>, string> = {
  "source-failed": "The first server is unplugged.",
  "destination-failed": "The second server is unplugged.",
  "no-path": "No path is left.",
};

export default function PathsSection({
  computed,
  model,
  marked,
}: {
  computed: Computed;
  model: PlanModel;
  marked: Marked;
}) {
  const servers = useServers(model, computed.summary.counts.servers);
  const [ends, setEnds] = useState<readonly [string, string] | null>(null);
  const [open, setOpen] = useState(true);
  const [source, destination] = ends ?? servers.farthest;
  const known = [source, destination].map((name) => servers.names.has(name));
  const change = (at: 0 | 1, name: string) =>
    setEnds(at === 0 ? [name.trim(), destination] : [source, name.trim()]);
  return (
    <>
      <div className={styles.ends}>
        <ServerField label="From" value={source} known={known[0]!} onChange={(name) => change(0, name)} />
        <ServerField label="To" value={destination} known={known[1]!} onChange={(name) => change(1, name)} />
      </div>
      {open && known.every(Boolean) && source !== destination ? (
        <Paths
          key={`${source} ${destination}`}
          computed={computed}
          model={model}
          marked={marked}
          ends={[source, destination]}
          onHide={() => setOpen(false)}
        />
      ) : (
        <>
          {source === destination && <p className={styles.note}>Name two different servers.</p>}
          {!known.every(Boolean) && (
            <p className={styles.note} role="alert">
              {`Type a server's name, ${servers.farthest[0]} to ${servers.farthest[1]}, or its host name.`}
            </p>
          )}
          <div className={styles.actions}>
            <Button
              small
              disabled={!known.every(Boolean) || source === destination}
              onClick={() => setOpen(true)}
            >
              Show parallel paths
            </Button>
          </div>
        </>
      )}
    </>
  );
}

/** The names and host names of a plan's servers, and its first and last server. */
function useServers(model: PlanModel, count: number) {
  return useMemo(() => {
    const { names, hosts } = model.devices;
    return {
      names: new Set([...names.slice(0, count), ...hosts.slice(0, count)]),
      farthest: [names[0] ?? "", names[count - 1] ?? ""] as const,
    };
  }, [model, count]);
}

function ServerField({
  label,
  value,
  known,
  onChange,
}: {
  label: string;
  value: string;
  known: boolean;
  onChange: (name: string) => void;
}) {
  const id = useId();
  return (
    <label htmlFor={id}>
      {label}
      <TextInput
        id={id}
        value={value}
        aria-invalid={!known || undefined}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

function Paths({
  computed,
  model,
  marked,
  ends,
  onHide,
}: {
  computed: Computed;
  model: PlanModel;
  marked: Marked;
  ends: readonly [string, string];
  onHide: () => void;
}) {
  const [without, setWithout] = useState<readonly string[]>([]);
  const [lit, setLit] = useState<Lit>("all");
  const query = usePaths({ spec: computed.spec, source: ends[0], destination: ends[1], without });
  const answer = query.data;
  useLight(answer?.paths, query.isPlaceholderData, lit, marked);
  const reach = useGuide((state) => state.reach);
  const unplug = (name: string) => {
    setWithout((before) => [...before, name]);
    setLit(0);
    reach("paths");
  };
  if (query.isError) return <ProblemView error={query.error} onRetry={() => void query.refetch()} />;
  if (!answer) return <Skeleton height={96} />;
  return (
    <>
      <p className={styles.note} role="status">
        {summaryOf(answer)}
      </p>
      <ul className={styles.paths} data-testid="paths">
        {answer.paths.map((path, at) => (
          <li key={path.links.join(" ")}>
            <PathRow
              path={path}
              number={at + 1}
              lit={lit === at}
              onClick={() => setLit(lit === at ? "all" : at)}
            />
            {lit === at && <Cables path={path} model={model} onUnplug={unplug} />}
          </li>
        ))}
      </ul>
      <div className={styles.actions}>
        {lit !== "all" && answer.paths.length > 1 && (
          <Button small onClick={() => setLit("all")}>
            Show all
          </Button>
        )}
        {without.length > 0 && (
          <Button
            small
            onClick={() => {
              setWithout([]);
              setLit("all");
            }}
          >
            {`Plug in again (${without.length})`}
          </Button>
        )}
        <Button small look="quiet" onClick={onHide}>
          Hide
        </Button>
      </div>
    </>
  );
}

/** Selects the cables of the highlighted paths, unless the user has selected another item since. */
function useLight(
  paths: readonly ServerPath[] | undefined,
  stale: boolean,
  lit: Lit,
  { selection, select }: Marked,
): void {
  const mine = useRef<Selection | undefined>(undefined);
  const seen = useRef<Lit | undefined>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a selection made elsewhere must not start this
  useEffect(() => {
    if (!paths || stale) return;
    const taken = mine.current !== undefined && !sameSelection(selection, mine.current);
    if (taken && seen.current === lit) return;
    const chosen = lit === "all" ? paths : paths.slice(lit, lit + 1);
    const ids = [...new Set(chosen.flatMap((path) => path.links))].sort((a, b) => a - b);
    const next: Selection = ids.length > 0 ? { kind: "cable", ids } : null;
    mine.current = next;
    seen.current = lit;
    select(next);
  }, [paths, stale, lit]);
}

function summaryOf(answer: ServerPaths): string {
  const { paths, without } = answer;
  const gone = without.length > 0 ? `${plural(without.length, "cable")} unplugged: ` : "";
  if (paths.length === 0) return `${gone}${REASONS[answer.reason ?? "no-path"]}`;
  const number = paths.length === 1 ? "one path" : `${paths.length} paths that share no device on the way`;
  return `${gone}${number}, ${plural(paths[0]!.links.length, "link")} at least.`;
}

function PathRow({
  path,
  number,
  lit,
  onClick,
}: {
  path: ServerPath;
  number: number;
  lit: boolean;
  onClick: () => void;
}) {
  return (
    <button type="button" className={styles.path} aria-pressed={lit} onClick={onClick}>
      <span className={styles.number}>{number}</span>
      <span className={styles.way}>{path.devices.join(" – ")}</span>
      <span className={styles.length}>{plural(path.links.length, "link")}</span>
    </button>
  );
}

/** The cables of a path, each of which can be unplugged. */
function Cables({
  path,
  model,
  onUnplug,
}: {
  path: ServerPath;
  model: PlanModel;
  onUnplug: (name: string) => void;
}) {
  const { cables, devices } = model;
  return (
    <ul className={styles.cables}>
      {path.links.map((link) => {
        const name = `${devices.names[cables.aDevice[link]!]}/${devices.names[cables.bDevice[link]!]}`;
        return (
          <li key={link} className={styles.cable}>
            <span className={styles.way}>{name}</span>
            <Button small aria-label={`Unplug ${name}`} onClick={() => onUnplug(name)}>
              Unplug
            </Button>
          </li>
        );
      })}
    </ul>
  );
}

/**
 * The open terminals of a live run, below the picture: they stay open when the selection changes.
 */
import { lazy, Suspense, useEffect, useId, useRef } from "react";
import { Button } from "@/ui/button";
import { Skeleton } from "@/ui/marks";
import { Tabs } from "@/ui/tabs";
import { formatNumber } from "@/units";
import { useTerminalOffer } from "./terminal";
import styles from "./terminal.module.css";
import { statusText } from "./terminal-talk";
import { type OpenTerminal, useTerminals } from "./terminals";

const Screen = lazy(() => import("./terminal-screen"));

export default function TerminalDock({ run }: { run: string }) {
  const id = useId();
  const { open, shown, run: of, show } = useTerminals();
  if (of !== run || open.length === 0) return null;
  return (
    <section className={styles.dock} aria-label="Terminals">
      <Tabs
        label="Terminals"
        panelId={id}
        value={shown ?? open[0]!.name}
        onChange={show}
        items={open.map(({ name }) => ({ id: name, label: name }))}
      />
      <div id={id} role="tabpanel" aria-label={`Terminal in server ${shown}`}>
        {open.map((item) => (
          <Shell key={item.opening} run={run} terminal={item} hidden={item.name !== shown} />
        ))}
      </div>
    </section>
  );
}

/** One shell. A hidden one stays connected, and keeps what it has printed. */
function Shell({ run, terminal, hidden }: { run: string; terminal: OpenTerminal; hidden: boolean }) {
  const { name, opening, status } = terminal;
  const { start, close, tell } = useTerminals();
  const leave = useRef<HTMLButtonElement>(null);
  const ended = status.state === "ended";
  const { data, error } = useTerminalOffer(run, name, ended);
  const whole = useRef<HTMLDivElement>(null);
  // A user who opens a terminal or switches to it types next. While hidden, xterm paints nothing.
  useEffect(() => {
    if (!hidden) whole.current?.scrollIntoView({ block: "nearest" });
  }, [hidden]);
  return (
    <div className={styles.terminal} hidden={hidden} ref={whole}>
      <div className={styles.row}>
        <p role="status" data-state={status.state}>
          {statusText(status)}
        </p>
        {ended && (
          <Button small disabled={!data?.available || error !== null} onClick={() => start(run, name)}>
            Open again
          </Button>
        )}
        <Button
          small
          icon="close"
          onClick={() => close(name)}
          title={ended ? undefined : "Ends the shell and what it has started"}
          ref={leave}
        >
          Close the terminal
        </Button>
      </div>
      <Suspense fallback={<Skeleton height={260} />}>
        <Screen
          path={`/api/v1/runs/${encodeURIComponent(run)}/servers/${encodeURIComponent(name)}/terminal`}
          label={`Shell of server ${name}`}
          onStatus={(next) => tell(opening, next)}
          onLeave={() => leave.current?.focus()}
        />
      </Suspense>
      <p className="muted plain">
        Ctrl+Shift+Escape or Shift+Tab leaves the terminal. The shell has the rights of the server's
        container. It ends when you close it, leave the page
        {data
          ? `, or type nothing for ${formatNumber(data.idle_secs / 60)} min`
          : " or type nothing for long"}
        .
      </p>
    </div>
  );
}

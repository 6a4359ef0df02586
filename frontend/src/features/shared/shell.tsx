import { Link, useRouterState } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useMemo } from "react";
import { useConnection } from "@/api/connection";
import { buttonClass, IconButton } from "@/ui/button";
import { CopyButton } from "@/ui/clipboard";
import { Icon } from "@/ui/icon";
import { Kbd } from "@/ui/marks";
import { DialogTrigger, Menu, PopoverPanel, TriggerButton } from "@/ui/overlay";
import { Toaster } from "@/ui/toast";
import { type Command, chordKeys, useCommands, useRegistry } from "./commands";
import { curlOf, useScreenRequests } from "./curl";
import { useLastPlan } from "./last-plan";
import Palette from "./palette";
import styles from "./shell.module.css";
import { type ThemeChoice, useTheme } from "./theme";

const Shortcuts = lazy(() => import("./shortcuts"));

/** The frame of every page: bar, page, status. Pages put their own tools into `title`, `actions` and `status`. */
export function Shell({
  title,
  actions,
  status,
  children,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  status?: ReactNode;
  children: ReactNode;
}) {
  const online = useConnection();
  const palette = useRegistry((state) => state.palette);
  const help = useRegistry((state) => state.help);
  const { choice, choose } = useTheme();
  const lastPlan = useLastPlan((state) => state.href);
  const path = useRouterState({ select: (state) => state.location.pathname });

  const commands = useMemo<Command[]>(
    () => [
      {
        id: "palette",
        title: "Search or run a command",
        group: "General",
        keys: "mod+k",
        icon: "search",
        run: () => useRegistry.setState({ palette: true, help: false }),
      },
      {
        id: "help",
        title: "Keyboard shortcuts",
        group: "General",
        keys: "?",
        icon: "help",
        run: () => useRegistry.setState({ help: true, palette: false }),
      },
      ...THEMES.map(({ id, label, icon }) => ({
        id: `theme-${id}`,
        title: `Theme: ${label}`,
        group: "General",
        icon,
        run: () => choose(id),
      })),
    ],
    [choose],
  );
  useCommands("shell", commands);

  return (
    <div className={styles.shell}>
      <a href="#main" className={`${buttonClass("primary")} ${styles.skip}`}>
        Skip to the page
      </a>
      <header className={styles.bar} data-crowded={(title && actions && true) || undefined}>
        <Link to="/" className={styles.brand} aria-label="Cubeyard, home">
          <svg
            width="18"
            height="18"
            viewBox="0 0 18 18"
            fill="none"
            stroke="currentColor"
            strokeWidth="1.6"
            strokeLinejoin="round"
            aria-hidden="true"
          >
            <path d="M9 1.5 15.5 5v8L9 16.5 2.5 13V5zM2.5 5 9 8.6 15.5 5M9 8.6v7.9" />
          </svg>
          Cubeyard
        </Link>
        <div className={styles.slot}>{title}</div>
        {title && <span className={styles.rule} />}
        <nav className={styles.nav} aria-label="Pages">
          <Link
            to={lastPlan as "/"}
            className={styles.navLink}
            data-status={/^\/(plans\/|$)/.test(path) ? "active" : undefined}
            aria-current={/^\/(plans\/|$)/.test(path) ? "page" : undefined}
          >
            Plan
          </Link>
          <Link to="/compare" className={styles.navLink} activeOptions={{ includeSearch: false }}>
            Compare
          </Link>
          <Link to="/experiments" className={styles.navLink} activeOptions={{ includeSearch: false }}>
            Experiments
          </Link>
          <Link to="/runs" className={styles.navLink} activeOptions={{ includeSearch: false }}>
            Runs
          </Link>
          <Link to="/catalog" className={styles.navLink} activeOptions={{ includeSearch: false }}>
            Catalog
          </Link>
          <Link to="/figures" className={styles.navLink}>
            Figures
          </Link>
          <Link to="/api" className={styles.navLink} activeOptions={{ includeSearch: false }}>
            API
          </Link>
        </nav>
        <span className={styles.space} />
        <button
          type="button"
          className={styles.search}
          aria-label="Search or run a command"
          onClick={() => useRegistry.setState({ palette: true })}
        >
          <Icon name="search" size={14} />
          <span className={styles.searchText}>Search or run</span>
          <span className={styles.searchKeys}>
            {chordKeys("mod+k").map((key) => (
              <Kbd key={key}>{key}</Kbd>
            ))}
          </span>
        </button>
        <CurlButton />
        <Menu
          label="Theme"
          trigger={
            <TriggerButton className={buttonClass("quiet", false, true)} aria-label="Theme">
              <Icon name={THEMES.find((t) => t.id === choice)?.icon ?? "system"} />
            </TriggerButton>
          }
          groups={[
            {
              entries: THEMES.map(({ id, label, icon }) => ({
                id,
                label,
                icon,
                trailing: id === choice ? <Icon name="check" /> : undefined,
                onAction: () => choose(id),
              })),
            },
          ]}
        />
        <IconButton
          icon="help"
          label="Keyboard shortcuts"
          onClick={() => useRegistry.setState({ help: true })}
        />
        {actions && <span className={styles.rule} />}
        <div className={styles.slot}>{actions}</div>
      </header>
      <main id="main" className={styles.main} tabIndex={-1}>
        {children}
      </main>
      <footer className={styles.status}>
        {status}
        <span className={styles.space} />
        <span className={online ? styles.online : styles.offline} role="status">
          {online ? "Connected" : "Not connected: what you see may be old"}
        </span>
      </footer>
      <Toaster />
      <Suspense>
        {palette && <Palette />}
        {help && <Shortcuts />}
      </Suspense>
    </div>
  );
}

const THEMES: { id: ThemeChoice; label: string; icon: "sun" | "moon" | "system" }[] = [
  { id: "light", label: "Light", icon: "sun" },
  { id: "dark", label: "Dark", icon: "moon" },
  { id: "system", label: "As the system", icon: "system" },
];

function CurlButton() {
  const requests = useScreenRequests((state) => state.requests);
  return (
    <DialogTrigger>
      <TriggerButton className={buttonClass("quiet", false, true)} aria-label="Copy as curl">
        <Icon name="terminal" />
      </TriggerButton>
      <PopoverPanel label="This screen as REST calls" width={440}>
        <div className={styles.curl}>
          {requests.length === 0 && <p>This screen makes no call.</p>}
          {requests.map((request) => {
            const line = curlOf(request, location.origin);
            return (
              <div key={`${request.method} ${request.path} ${request.title}`}>
                <div className={styles.curlHead}>
                  {request.title}
                  <CopyButton text={line}>Copy as curl</CopyButton>
                </div>
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long call scrolls, so the keyboard must reach it */}
                <pre tabIndex={0}>{line.length > 1500 ? `${line.slice(0, 1500)}…` : line}</pre>
              </div>
            );
          })}
        </div>
      </PopoverPanel>
    </DialogTrigger>
  );
}

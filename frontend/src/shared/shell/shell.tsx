import { useNavigate, useRouterState } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useMemo } from "react";
import { useConnection } from "@/api/connection";
import { useLastPlan } from "@/shared/plans/last-plan";
import { buttonClass, IconButton } from "@/ui/button";
import { useTheme } from "@/ui/theme";
import { Toaster } from "@/ui/toast";
import { type Command, useCommands, useRegistry } from "./commands";
import { useGuide, useGuideOpen } from "./guide/guide-state";
import Palette from "./palette";
import styles from "./shell.module.css";
import { Brand, PageLinks, PagesMenu } from "./shell-nav";
import { CurlButton, SearchButton, THEMES, ThemeMenu } from "./shell-tools";

const Guide = lazy(() => import("./guide/guide"));
const Shortcuts = lazy(() => import("./shortcuts"));

/**
 * The frame of every page: bar, page, status. Pages put their own tools into `title`, `actions` and
 * `status`.
 */
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
  const lastPlan = useLastPlan((state) => state.href);
  const path = useRouterState({ select: (state) => state.location.pathname });

  const guided = useGuideOpen();
  useShellCommands();

  return (
    <div className={styles.shell} data-guided={guided || undefined}>
      <a href="#main" className={`${buttonClass("primary")} ${styles.skip}`}>
        Skip to content
      </a>
      <header className={styles.bar} data-crowded={(title && actions && true) || undefined}>
        <Brand />
        <div className={styles.slot}>{title}</div>
        {title && <span className={styles.rule} />}
        <PagesMenu path={path} planHref={lastPlan} />
        <PageLinks path={path} planHref={lastPlan} />
        <span className={styles.space} />
        <SearchButton />
        <CurlButton />
        <ThemeMenu />
        <IconButton
          icon="help"
          label="Keyboard shortcuts"
          onClick={() => useRegistry.setState({ help: true })}
        />
        {actions && <span className={styles.rule} />}
        <div className={styles.slot}>{actions}</div>
      </header>
      {guided && (
        <Suspense fallback={<div />}>
          <Guide />
        </Suspense>
      )}
      <main id="main" className={styles.main} tabIndex={-1}>
        {children}
      </main>
      <footer className={styles.status}>
        {status}
        <span className={styles.space} />
        <span className={online ? styles.online : styles.offline} role="status">
          {online ? "Connected" : "Not connected. Data may be out of date."}
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

/** The commands that are available on every page. */
function useShellCommands() {
  const { choose } = useTheme();
  const navigate = useNavigate();
  const lastPlan = useLastPlan((state) => state.href);
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
      {
        id: "guide",
        title: "Start the first minute: plan, predict, emulate, pull a cable",
        group: "General",
        run: () => {
          useGuide.getState().start();
          void navigate({ to: lastPlan as "/" });
        },
      },
      {
        id: "settings",
        title: "Settings: API tokens and session",
        group: "Pages",
        run: () => void navigate({ to: "/settings" }),
      },
    ],
    [choose, navigate, lastPlan],
  );
  useCommands("shell", commands);
}

/** Tools in the bar of every page: search, API calls, theme and settings. */
import { useNavigate } from "@tanstack/react-router";
import { curlOf, useScreenRequests } from "@/shared/server/curl";
import { buttonClass } from "@/ui/button";
import { CopyButton } from "@/ui/clipboard";
import { Icon } from "@/ui/icon";
import { Kbd } from "@/ui/marks";
import { DialogTrigger, Menu, PopoverPanel, TriggerButton } from "@/ui/overlay";
import { type ThemeChoice, useTheme } from "@/ui/theme";
import { chordKeys, useRegistry } from "./commands";
import styles from "./shell.module.css";

export const THEMES: { id: ThemeChoice; label: string; icon: "sun" | "moon" | "system" }[] = [
  { id: "light", label: "Light", icon: "sun" },
  { id: "dark", label: "Dark", icon: "moon" },
  { id: "system", label: "System", icon: "system" },
];

export function SearchButton() {
  return (
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
  );
}

/** The theme, and the way to the settings. */
export function ThemeMenu() {
  const { choice, choose } = useTheme();
  const navigate = useNavigate();
  return (
    <Menu
      label="Theme and settings"
      trigger={
        <TriggerButton className={buttonClass("quiet", false, true)} aria-label="Theme and settings">
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
        {
          entries: [
            {
              id: "settings",
              label: "API tokens and session",
              icon: "edit",
              onAction: () => void navigate({ to: "/settings" }),
            },
          ],
        },
      ]}
    />
  );
}

export function CurlButton() {
  const requests = useScreenRequests((state) => state.requests);
  return (
    <DialogTrigger>
      <TriggerButton className={buttonClass("quiet", false, true)} aria-label="API calls for this page">
        <Icon name="terminal" />
      </TriggerButton>
      <PopoverPanel label="API calls for this page" width={440}>
        <div className={styles.curl}>
          {requests.length === 0 && <p>This page makes no API calls.</p>}
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

/**
 * The pages of Cubeyard: links in the bar, one of them marked, and a menu where there is no room
 * for links.
 */
import { Link, useNavigate } from "@tanstack/react-router";
import { buttonClass } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { Menu, TriggerButton } from "@/ui/overlay";
import styles from "./shell.module.css";

const PAGES = [
  { id: "plan", to: "/", label: "Plan", at: /^\/(plans\/|$)/ },
  { id: "compare", to: "/compare", label: "Compare", at: /^\/compare/ },
  { id: "search", to: "/search", label: "Search", at: /^\/search/ },
  { id: "experiments", to: "/experiments", label: "Experiments", at: /^\/experiments/ },
  { id: "runs", to: "/runs", label: "Runs", at: /^\/runs/ },
  { id: "catalog", to: "/catalog", label: "Catalog", at: /^\/catalog/ },
  { id: "figures", to: "/figures", label: "Figures", at: /^\/figures/ },
  { id: "chip", to: "/chip", label: "Chip", at: /^\/chip/ },
  { id: "api", to: "/api", label: "API", at: /^\/api/ },
] as const;

/** The page that an address is on; null elsewhere. */
export const pageAt = (path: string): string | null => PAGES.find(({ at }) => at.test(path))?.id ?? null;

interface NavProps {
  path: string;
  /** The last address of the plan page. */
  planHref: string;
}

export function PageLinks({ path, planHref }: NavProps) {
  const here = pageAt(path);
  return (
    <nav className={styles.nav} aria-label="Pages">
      {PAGES.map(({ id, to, label }) => (
        <Link
          key={id}
          to={id === "plan" ? (planHref as "/") : to}
          className={styles.navLink}
          activeProps={{}}
          data-guide={`nav-${id}`}
          data-here={id === here || undefined}
          aria-current={id === here ? "page" : undefined}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

export function PagesMenu({ path, planHref }: NavProps) {
  const navigate = useNavigate();
  const here = pageAt(path);
  return (
    <div className={styles.pagesMenu}>
      <Menu
        label="Pages"
        trigger={
          <TriggerButton className={buttonClass("plain")} aria-label="Pages">
            {PAGES.find(({ id }) => id === here)?.label ?? "Pages"}
            <Icon name="chevron" size={14} />
          </TriggerButton>
        }
        groups={[
          {
            entries: PAGES.map(({ id, to, label }) => ({
              id,
              label,
              trailing: id === here ? <Icon name="check" /> : undefined,
              onAction: () => void navigate({ to: id === "plan" ? (planHref as "/") : to }),
            })),
          },
        ]}
      />
    </div>
  );
}

export function Brand() {
  return (
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
  );
}

import { Link } from "@tanstack/react-router";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { Shell } from "@/shared/shell/shell";
import { useTitle } from "@/ui/use-title";
import { SessionSection } from "./session";
import styles from "./settings.module.css";
import { TokensSection } from "./tokens";

const REQUESTS: ScreenRequest[] = [
  { title: "API tokens", method: "GET", path: "/api/v1/tokens" },
  { title: "Create a token", method: "POST", path: "/api/v1/tokens", body: { name: "nightly export" } },
  { title: "Who changed what and when", method: "GET", path: "/api/v1/changes" },
  { title: "This session", method: "GET", path: "/api/v1/session" },
];

/** API tokens, and the session of this browser. */
export default function SettingsPage() {
  useTitle("Settings");
  useScreen(REQUESTS);
  return (
    <Shell>
      <div className={styles.page}>
        <h1>Settings</h1>
        <TokensSection />
        <SessionSection />
        <section aria-labelledby="changes">
          <h2 id="changes">Changes</h2>
          <p className="muted">Who changed plans, notes, runs, price books and tokens, and when.</p>
          <Link to="/changes">Show the change log</Link>
        </section>
      </div>
    </Shell>
  );
}

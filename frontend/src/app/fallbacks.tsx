import { Link } from "@tanstack/react-router";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { Empty } from "@/ui/marks";

export function ErrorPage({ error }: { error: unknown }) {
  return (
    <Shell>
      <ProblemView title="This page has an error" error={error} onRetry={() => location.reload()} />
    </Shell>
  );
}

export function NotFoundPage() {
  return (
    <Shell>
      <h1 className="visually-hidden">Not found</h1>
      <Empty title="Not found">
        <p>
          Go to <Link to="/">the current plan</Link>, <Link to="/compare">the comparison</Link> or{" "}
          <Link to="/catalog">the catalog</Link>.
        </p>
      </Empty>
    </Shell>
  );
}

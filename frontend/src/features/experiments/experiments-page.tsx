import { Link } from "@tanstack/react-router";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { buttonClass } from "@/ui/button";
import { Skeleton } from "@/ui/marks";
import { useTitle } from "@/ui/use-title";
import { Composer } from "./composer";
import { useDraft } from "./use-draft";

/** Write an experiment and run it, and open saved experiments. */
export default function ExperimentsPage() {
  const { draft, error: unreadable, change, taken, onTaken } = useDraft();
  useTitle("Experiments");
  if (draft === null)
    return (
      <Shell>
        {unreadable ? (
          <>
            <ProblemView title="This experiment cannot be opened" error={unreadable} />
            <p style={{ padding: "0 16px" }}>
              <Link to="/experiments" search={{}} className={buttonClass()}>
                Create a new experiment
              </Link>
            </p>
          </>
        ) : (
          <Skeleton height={320} />
        )}
      </Shell>
    );
  return <Composer draft={draft} change={change} taken={taken} onTaken={onTaken} />;
}

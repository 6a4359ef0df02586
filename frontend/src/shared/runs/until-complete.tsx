/**
 * A finished run is shown once all of its frames are here: half of them would look like the whole.
 */
import { type ReactNode, useState } from "react";
import { Skeleton } from "@/ui/marks";
import type { FeedState } from "./run-feed";
import { isOver, type RunState } from "./runs";

export function UntilComplete({
  state,
  feed,
  children,
}: {
  state: RunState;
  feed: FeedState;
  children: ReactNode;
}) {
  // A run that ends while it is watched stays on screen.
  const [finished] = useState(isOver(state));
  if (!finished || feed === "over" || feed === "refused") return children;
  return (
    <div role="status" aria-label="Loading the run">
      <Skeleton height={360} />
    </div>
  );
}

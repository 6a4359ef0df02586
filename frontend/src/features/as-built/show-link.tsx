import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Plan } from "@/api/types";

/** The address of the plan's picture with a cable selected. */
export const shownAt = (plan: Plan, cable: string) => ({
  to: "/plans/$id" as const,
  params: { id: plan.id },
  search: {
    ...(plan.revision !== plan.head_revision && { revision: plan.revision }),
    sel: `cable:${cable}`,
  },
});

export function ShowLink({
  plan,
  cable,
  className,
  children,
}: {
  plan: Plan;
  cable: string;
  className?: string;
  children: ReactNode;
}) {
  return (
    <Link {...shownAt(plan, cable)} className={className} title={`Show ${cable} in the picture`}>
      {children}
    </Link>
  );
}

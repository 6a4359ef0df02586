import { formatCount } from "@/units";

const SHOWN = 200;

/** Rows of a file that an import leaves out, each with its reason. */
export function LeftOut({
  rows,
  className,
}: {
  rows: readonly { where: string; reason: string }[];
  className?: string;
}) {
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>Rows left out ({formatCount(rows.length)})</summary>
      <ul className={className}>
        {rows.slice(0, SHOWN).map(({ where, reason }) => (
          <li key={`${where} ${reason}`}>
            {where}: {reason}
          </li>
        ))}
      </ul>
    </details>
  );
}

export type ColumnHead = string | { title: string; className?: string; hidden?: boolean };

/** The head of a table; a hidden title is read out only. */
export const ColumnHeads = ({ columns }: { columns: readonly ColumnHead[] }) => (
  <thead>
    <tr>
      {columns.map((column, at) => {
        const { title, className, hidden } = typeof column === "string" ? { title: column } : column;
        return (
          <th key={at} scope="col" className={className}>
            {hidden ? <span className="visually-hidden">{title}</span> : title}
          </th>
        );
      })}
    </tr>
  </thead>
);

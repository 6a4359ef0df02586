/**
 * A tiny picture of each family, like a sketch from its paper. Decoration; the card has the name.
 */
const DRAWINGS: Record<string, string> = {
  bcube:
    "M3 13.5h4M9 13.5h4M3.5 13 5 9M6.5 13 5 9M9.5 13 11 9M12.5 13 11 9M3.6 13 8 3M9.4 13 8 3M12.4 13 8 3M6.6 13 8 3",
  dcell: "M8 2.5 13 6v5.5L8 14 3 11.5V6zM8 2.5V14M3 6l10 5.5M13 6 3 11.5",
  torus3d: "M3 5.5 6 3h7v7l-3 2.5H3zM3 5.5h7v7M10 5.5 13 3M6.5 5.5v7M3 9h7",
  subways: "M2 12h12M4 12V8M8 12V8M12 12V8M4 8h8M4 8 8 3.5 12 8M6 12 8 8M10 12l2-4",
  fat_tree:
    "M3 13V9M6.3 13V9M9.7 13V9M13 13V9M3 9l3.3-5.5M6.3 9V3.5M9.7 9V3.5M13 9 9.7 3.5M3 9l6.7-5.5M13 9 6.3 3.5",
  tree: "M8 3v3M4 9V6h8v3M2.5 13V9h3v4M10.5 13V9h3v4",
  torus2d: "M3 3h10v10H3zM3 6.3h10M3 9.7h10M6.3 3v10M9.7 3v10",
  jellyfish: "M8 2.5 13 6 11 12H5L3 6zM8 2.5 11 12M8 2.5 5 12M3 6h10M3 6l8 6",
  dragonfly: "M3 4.5 6 3v3zM13 4.5 10 3v3zM8 13l-2-2.5h4zM6 3h4M4.5 5.3 6.5 10.5M11.5 5.3 9.5 10.5",
  custom: "M4 12.5 6.5 8M6.5 8 4 3.5M6.5 8H11M11 8l2 4.5M11 8l2-4.5M4 3.5h9",
  leaf_spine: "M3 13V9M8 13V9M13 13V9M3 9l2.5-5.5L8 9l2.5-5.5L13 9M3 9l7.5-5.5M13 9 5.5 3.5",
};

export function TopologyIcon({ family }: { family: string }) {
  return (
    <svg
      width="20"
      height="20"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.1"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={DRAWINGS[family] ?? DRAWINGS.tree} />
    </svg>
  );
}

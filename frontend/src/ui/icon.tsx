/** One stroke, 16 px, drawn here so that no icon font or request is needed. */
const PATHS = {
  undo: "M6 4 3 7l3 3M3 7h6.5a3.5 3.5 0 0 1 0 7H8",
  redo: "m10 4 3 3-3 3M13 7H6.5a3.5 3.5 0 0 0 0 7H8",
  chevron: "m4 6 4 4 4-4",
  right: "m6 4 4 4-4 4",
  close: "m4 4 8 8M12 4l-8 8",
  check: "m3 8.5 3.2 3.2L13 5",
  warning: "M8 2.5 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.1",
  error: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 4.8v3.8M8 11v.1",
  info: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 7.4v3.8M8 4.9v.1",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9m3.3 7.8L14 14",
  share: "M8 10V2M5 4.5 8 1.8l3 2.7M3.5 8v5.5h9V8",
  export: "M8 2v8M5 7.3 8 10l3-2.7M2.5 11v2.5h11V11",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  terminal: "m3 5 3 3-3 3M8 11.5h5",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9 13 13M13 3l-1.1 1.1M4.1 11.9 3 13",
  moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z",
  system: "M2 3h12v8H2zM6 14h4M8 11v3",
  history: "M2.5 8a5.5 5.5 0 1 0 1.7-4M2.5 2.5v2.6h2.6M8 5v3.2l2.2 1.4",
  save: "M2.5 2.5h8.8l2.2 2.2v8.8h-11zM5 2.5v3.5h5V2.5M5 13.5V9.5h6v4",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  compare: "M5.5 2.5v11M10.5 2.5v11M2.5 5.5h3M10.5 8h3M2.5 10.5h3",
  trash: "M3 4.5h10M6 4.5V2.8h4v1.7M4.3 4.5l.6 9h6.2l.6-9",
  play: "M5 3.5v9l7.5-4.5z",
  pulse: "M1.5 8h3l2-5 3 10 2-5h3",
  filter: "M2.5 3.5h11L9.5 8.4v4.3l-3-1.5V8.4z",
  edit: "m3 13 .6-2.8 7.2-7.2 2.2 2.2-7.2 7.2zM9.4 4.4l2.2 2.2",
  print: "M4.5 6V2.5h7V6M4.5 11h-2V6h11v5h-2M4.5 9.5h7v4h-7z",
  wand: "m3 13 7-7M9 3.2V1.8M12.8 7h1.4M11.7 4.3l1-1M6.2 4.3l-1-1M11.7 9.7l1 1",
  help: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M6.2 6.2a1.8 1.8 0 1 1 2.6 1.6c-.6.3-.8.7-.8 1.3M8 11.3v.1",
  offline:
    "M2 2l12 12M2.5 6.5a8 8 0 0 1 3-1.7M8 4.2a8 8 0 0 1 5.5 2.3M4.6 9a5 5 0 0 1 2.6-1.4M9.8 7.8A5 5 0 0 1 11.4 9M8 12v.1",
  up: "M8 13V3.5M4.5 7 8 3.5 11.5 7",
  down: "M8 3v9.5M4.5 9 8 12.5 11.5 9",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  link: "M6.8 9.2 9.2 6.8M7 4.5l1.5-1.5a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5 7.5 13A3.2 3.2 0 0 1 3 8.5L4.5 7",
  pin: "M6 2h4l-.6 4.2 2.4 2.3H4.2l2.4-2.3zM8 8.5V14",
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration only: the button or text around it carries the name. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      style={{ flex: "none" }}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/** Addresses of the documentation, which the server has under /docs. */
export interface Document {
  title: string;
  /** Below /docs, without `.html`. */
  page: string;
}

export const DOCUMENTS: readonly Document[] = [
  { title: "All documents", page: "index" },
  { title: "Tutorials", page: "tutorials/index" },
  { title: "How to", page: "how-to/index" },
  { title: "Reference", page: "reference/index" },
  { title: "Explanation", page: "explanation/index" },
];

/** The document of a page, by the last part of its address that is listed here. */
export const DOCUMENT_OF: Readonly<Record<string, Document>> = {
  plans: { title: "Your first plan", page: "tutorials/first-plan" },
  compare: { title: "Compare plans", page: "how-to/compare" },
  "as-built": { title: "Cable with the crew: as built", page: "how-to/as-built" },
  crew: { title: "Cable with the crew", page: "how-to/as-built" },
  experiments: { title: "Predict, simulate and emulate", page: "how-to/experiments" },
  runs: { title: "Inside a live run", page: "explanation/live-runs" },
  figures: { title: "Compute the published figures", page: "how-to/figures" },
  search: { title: "Search for a plan", page: "how-to/search" },
  life: { title: "Compute failures over years", page: "how-to/lifetime" },
  catalog: { title: "Buy", page: "how-to/buy" },
  chip: { title: "Chip programs", page: "how-to/chip-programs" },
  changes: { title: "Notes, change log and revisions", page: "how-to/people" },
  api: { title: "REST examples", page: "reference/rest" },
};

export const documentUrl = ({ page }: Document): string => `/docs/${page}.html`;

/** The documents to offer on a page: its own first, the plan's if it has none. */
export function documentsOf(path: string): readonly Document[] {
  const parts = ["plans", ...path.split("/")];
  return [DOCUMENT_OF[parts.findLast((part) => part in DOCUMENT_OF)!]!, ...DOCUMENTS];
}

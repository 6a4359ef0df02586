/** The workloads of the engine with what each takes. [crates/sim/src/workload.rs] */

export interface WorkloadField {
  name: string;
  label: string;
  kind: "name" | "names" | "count" | "matrix";
  /** What is taken when it is left out. */
  otherwise: string;
}

export interface WorkloadForm {
  kind: string;
  title: string;
  detail: string;
  fields: readonly WorkloadField[];
}

const source: WorkloadField = {
  name: "source",
  label: "Sender",
  kind: "name",
  otherwise: "the first server",
};

export const WORKLOADS: readonly WorkloadForm[] = [
  {
    kind: "all-to-all",
    title: "All to all",
    detail: "Every server to every other: what the aggregate bottleneck throughput is defined by.",
    fields: [],
  },
  {
    kind: "one-to-one",
    title: "One to one",
    detail: "A single flow.",
    fields: [source, { name: "destination", label: "Receiver", kind: "name", otherwise: "the last server" }],
  },
  {
    kind: "one-to-several",
    title: "One to several",
    detail: "One server to a few, as to the replicas of a chunk.",
    fields: [
      source,
      { name: "destinations", label: "Receivers", kind: "names", otherwise: "drawn by the seed" },
      { name: "count", label: "How many to draw", kind: "count", otherwise: "3" },
    ],
  },
  {
    kind: "one-to-all",
    title: "One to all",
    detail: "One server to every other, as when an image is rolled out.",
    fields: [source],
  },
  {
    kind: "permutation",
    title: "Permutation",
    detail: "Every server to one other and from one other, drawn by the seed.",
    fields: [],
  },
  {
    kind: "random-pairs",
    title: "Random pairs",
    detail: "Independent pairs, drawn by the seed.",
    fields: [{ name: "count", label: "Pairs", kind: "count", otherwise: "as many as servers" }],
  },
  {
    kind: "incast",
    title: "Incast",
    detail: "Many servers to one.",
    fields: [
      { name: "destination", label: "Receiver", kind: "name", otherwise: "the first server" },
      { name: "sources", label: "Senders", kind: "names", otherwise: "drawn by the seed" },
      { name: "count", label: "How many to draw", kind: "count", otherwise: "all others" },
    ],
  },
  {
    kind: "shuffle",
    title: "Shuffle",
    detail: "All to all among the chosen racks and servers.",
    fields: [
      { name: "racks", label: "Racks", kind: "names", otherwise: "all" },
      { name: "servers", label: "Servers", kind: "names", otherwise: "none beside the racks’" },
    ],
  },
  {
    kind: "hot-racks",
    title: "Hot racks",
    detail: "Every server of the hot racks to every server outside them.",
    fields: [
      { name: "racks", label: "Hot racks", kind: "names", otherwise: "drawn by the seed" },
      { name: "count", label: "How many to draw", kind: "count", otherwise: "1" },
    ],
  },
  {
    kind: "matrix",
    title: "Traffic matrix",
    detail: "Lines of sender, receiver and weight, as CSV.",
    fields: [{ name: "entries", label: "Sender, receiver, weight", kind: "matrix", otherwise: "" }],
  },
];

export const workloadForm = (kind: unknown): WorkloadForm =>
  WORKLOADS.find((workload) => workload.kind === kind) ?? WORKLOADS[0]!;

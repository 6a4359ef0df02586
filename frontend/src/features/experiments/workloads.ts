/** The workloads of the engine with what each takes. [crates/sim/src/workload.rs] */

export interface WorkloadField {
  name: string;
  label: string;
  kind: "name" | "names" | "count" | "number" | "matrix";
  /** The default value. */
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
    detail: "Every server sends to every other server. Defines aggregate bottleneck throughput (ABT).",
    fields: [],
  },
  {
    kind: "one-to-one",
    title: "One to one",
    detail: "One flow.",
    fields: [source, { name: "destination", label: "Receiver", kind: "name", otherwise: "the last server" }],
  },
  {
    kind: "one-to-several",
    title: "One to many",
    detail: "One server sends to several, for example to the replicas of a chunk.",
    fields: [
      source,
      { name: "destinations", label: "Receivers", kind: "names", otherwise: "random (by seed)" },
      { name: "count", label: "Random count", kind: "count", otherwise: "3" },
    ],
  },
  {
    kind: "one-to-all",
    title: "One to all",
    detail: "One server sends to all others, for example to distribute an image.",
    fields: [source],
  },
  {
    kind: "permutation",
    title: "Permutation",
    detail: "Each server sends to one server and receives from one, chosen at random (by seed).",
    fields: [],
  },
  {
    kind: "random-pairs",
    title: "Random pairs",
    detail: "Independent random pairs (by seed).",
    fields: [{ name: "count", label: "Pairs", kind: "count", otherwise: "one per server" }],
  },
  {
    kind: "incast",
    title: "Incast",
    detail: "Many servers send to one.",
    fields: [
      { name: "destination", label: "Receiver", kind: "name", otherwise: "the first server" },
      { name: "sources", label: "Senders", kind: "names", otherwise: "random (by seed)" },
      { name: "count", label: "Random count", kind: "count", otherwise: "all others" },
    ],
  },
  {
    kind: "shuffle",
    title: "Shuffle",
    detail: "All to all among the selected racks and servers.",
    fields: [
      { name: "racks", label: "Racks", kind: "names", otherwise: "all" },
      { name: "servers", label: "Servers", kind: "names", otherwise: "only those in the racks" },
    ],
  },
  {
    kind: "hot-racks",
    title: "Hot racks",
    detail: "Every server in the hot racks sends to every server outside them.",
    fields: [
      { name: "racks", label: "Hot racks", kind: "names", otherwise: "random (by seed)" },
      { name: "count", label: "Random count", kind: "count", otherwise: "1" },
    ],
  },
  {
    kind: "requests",
    title: "Requests and responses",
    detail: "Clients ask servers and wait for responses. Simulation or emulation.",
    fields: [
      { name: "servers", label: "Servers", kind: "names", otherwise: "the first server" },
      { name: "clients", label: "Clients", kind: "names", otherwise: "all others" },
      {
        name: "count",
        label: "Requests per client",
        kind: "count",
        otherwise: "100; real packets: no limit",
      },
      { name: "request_bytes", label: "Request, bytes", kind: "count", otherwise: "100" },
      { name: "response_bytes", label: "Response, bytes", kind: "count", otherwise: "1000" },
      {
        name: "rate_per_sec",
        label: "Requests per second and client",
        kind: "number",
        otherwise: "one at a time",
      },
      { name: "think_secs", label: "Think time, s", kind: "number", otherwise: "0" },
      { name: "latency_bound_secs", label: "Latency bound, s", kind: "number", otherwise: "none" },
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

/**
 * What the frames of an emulation's stream hold, as they come, and a tick as it is kept. Columns of a tick stand in the
 * order of the `network` frame's columns: they are rows, not ids.
 */

export interface NetworkFrame {
  family: string;
  spec: Record<string, unknown>;
  /** False for a slice of a larger plan. */
  whole: boolean;
  mode: "containers" | "namespaces";
  dataplane: "kernel" | "software";
  rate_bits_per_sec: number;
  mtu: number;
  seed: number;
  settle_secs: number;
  seconds: number;
  header_efficiency: number;
  servers: { id: number[]; name: string[] };
  switches: { id: number[]; name: string[] };
  links: { id: number[]; a: number[]; b: number[]; a_port: number[]; b_port: number[]; level: number[] };
  flows: { source: number[]; destination: number[]; ideal_bits_per_sec: number[] };
  predicted: Predicted;
  schedule: ScheduledFault[];
  estimate: { servers: number; links: number; flows: number; cpu: number; start_secs: number };
  /** The machines that the servers are spread over, and which one each server is on; left out where there is one. */
  hosts?: { name: string[]; of_server: number[] };
  /** What ticks count bytes in: 1, or more where a large network's columns would not fit. */
  unit_bytes?: number;
}

/** What is expected from a time on, with what is broken then. */
export interface PredictedFrame extends Predicted {
  at_secs: number;
  failed: string[];
  /** Links that carry less, by their two ends; runs of before have none. */
  degraded?: { link: string; kind: string; rate_bits_per_sec?: number; loss_ratio?: number }[];
}

export interface Predicted {
  ideal_bits_per_sec: number;
  abt_bits_per_sec: number;
  flows: number;
  dropped_flows: number;
  routing: string;
}

export interface ScheduledFault {
  id: string;
  kind: string;
  targets: string[];
  at_secs: number;
  until_secs: number | null;
  flap_secs: number | null;
}

export type PhaseFrame =
  | { phase: "deploying"; servers: number }
  | { phase: "up"; up_secs?: number }
  | { phase: "calibrating" | "settling" | "measuring"; secs: number }
  | {
      phase: "calibrated";
      source: string;
      destination: string;
      goodput_bits_per_sec: number;
      achieved_over_ideal: number;
    }
  | { phase: "removing" };

export interface FaultFrame extends ScheduledFault {
  state: "injected" | "recovered" | "failed";
  ok: boolean;
  reason?: string;
}

export interface StopAllFrame {
  why: string;
  /** Confirmed: nothing is broken any more. */
  recovered: boolean;
  at_secs: number;
}

/** Something a server or the fabric told. `flow` is a row of the workload's flows. */
export interface SessionEvent {
  kind: string;
  at_secs: number;
  server?: number;
  neighbour?: number;
  port?: number;
  /** Of a carrier. */
  up?: boolean;
  cause?: string;
  flow?: number;
  tuple?: { src: string; dst: string; proto: number; sport: number; dport: number };
  path?: number[];
  /** Null where a flow ended without one. */
  reason?: string | null;
  reporter?: number;
  unreachable?: number[];
  /** Of events that were left out. */
  count?: number;
}

type Pairs = [row: number, value: number][];
/** Of links: what is sent from a to b, and from b to a. */
type BothWays = [row: number, ab: number, ba: number][];

export interface TickFrame {
  tick: number;
  at_secs: number;
  phase: TickPhase;
  /** Packets are left out where a large network's columns would not fit. */
  links: { ab: number[]; ba: number[]; ab_packets?: number[]; ba_packets?: number[] };
  servers: { received: number[]; relayed: number[]; cpu: number[] };
  goodput_bits_per_sec: number;
  abt_bits_per_sec: number;
  cpu: number;
  flows?: { bytes: number[] };
  retransmits?: Pairs;
  link_drops?: BothWays;
  queues?: BothWays;
  drops?: Record<string, number>;
  events?: SessionEvent[];
  routes?: [flow: number, servers: number[]][];
  counts?: Record<string, number>;
}

/** Ten ticks added up: what is told of the time that is long ago. Rates and CPU are means, queues the longest. */
export interface SecondFrame extends TickFrame {
  secs: number;
}

export type TickPhase = "settling" | "before" | "during" | "after";

/** A tick, or a second of them, as it is kept. Bytes since the one before, unless said otherwise. */
export interface Tick {
  /** Number of its frame in the run. */
  id: number;
  at: number;
  /** Since the one before. */
  secs: number;
  phase: TickPhase;
  ab: Uint32Array;
  ba: Uint32Array;
  abPackets: Uint32Array | null;
  baPackets: Uint32Array | null;
  received: Uint32Array;
  relayed: Uint32Array;
  /** Share of a core. */
  serverCpu: Float32Array;
  flows: Uint32Array | null;
  goodput: number;
  abt: number;
  cpu: number;
  retransmits: Pairs;
  linkDrops: BothWays;
  queues: BothWays;
  drops: Readonly<Record<string, number>>;
  counts: Readonly<Record<string, number>>;
}

const NO_PAIRS: Pairs = [];
const NO_LINKS: BothWays = [];
const NOTHING: Readonly<Record<string, number>> = {};
/** Of the fabric's clock: what a tick stands for when there is none before it. */
const TICK_SECS = 0.1;

/** The time that a tick stands for. */
export function secsOf(frame: TickFrame, before: Tick | undefined): number {
  const since = before ? frame.at_secs - before.at : TICK_SECS;
  return since > 0 ? since : TICK_SECS;
}

export function keptTick(id: number, frame: TickFrame, secs: number, unitBytes: number): Tick {
  const bytes = (column: number[]) => Uint32Array.from(column, (units) => units * unitBytes);
  return {
    id,
    at: frame.at_secs,
    secs,
    phase: frame.phase,
    ab: bytes(frame.links.ab),
    ba: bytes(frame.links.ba),
    abPackets: frame.links.ab_packets ? Uint32Array.from(frame.links.ab_packets) : null,
    baPackets: frame.links.ba_packets ? Uint32Array.from(frame.links.ba_packets) : null,
    received: bytes(frame.servers.received),
    relayed: bytes(frame.servers.relayed),
    serverCpu: Float32Array.from(frame.servers.cpu),
    flows: frame.flows ? bytes(frame.flows.bytes) : null,
    goodput: frame.goodput_bits_per_sec,
    abt: frame.abt_bits_per_sec,
    cpu: frame.cpu,
    retransmits: frame.retransmits ?? NO_PAIRS,
    linkDrops: frame.link_drops ?? NO_LINKS,
    queues: frame.queues ?? NO_LINKS,
    drops: frame.drops ?? NOTHING,
    counts: frame.counts ?? NOTHING,
  };
}

export interface WindowMeans {
  secs: number;
  goodput_bits_per_sec: number;
  least_goodput_bits_per_sec: number;
  abt_bits_per_sec: number;
  least_abt_bits_per_sec: number;
  stalled_flows: number;
  retransmits: number;
  drops: number;
  cpu: number;
}

export interface Fidelity {
  verdict: "faithful" | "emulator-limited" | "unknown";
  reason: string;
  cpu: number | null;
  achieved_over_ideal: number | null;
}

export interface ReportedFault extends ScheduledFault {
  injected_at_secs: number;
  recovered_at_secs: number | null;
  detected_secs: number | null;
  first_move_secs: number | null;
  last_move_secs: number | null;
  moves: number;
  recovered_secs: number | null;
}

export interface Report {
  ended: string;
  verdict: { outcome: "held" | "broken" | "none"; sentence: string; broken_at_secs?: number | null };
  aggregate_goodput_bits_per_sec: number;
  ideal_bits_per_sec: number;
  header_efficiency: number;
  abt_bits_per_sec: number;
  predicted: Predicted;
  total: WindowMeans;
  windows: Partial<Record<"before" | "during" | "after", WindowMeans>>;
  fidelity: Fidelity;
  faults: ReportedFault[];
  path_switches: number;
  per_server: {
    server: string;
    id: number;
    sent_bits_per_sec: number;
    received_bits_per_sec: number;
    relayed_bits_per_sec: number;
  }[];
  timings: Record<string, unknown>;
}

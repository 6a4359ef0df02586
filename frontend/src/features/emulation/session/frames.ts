/**
 * The frames of an emulation's stream, in the types that the API declares, and a tick as it is
 * kept. Columns of a tick stand in the order of the `network` frame's columns: they are rows, not
 * ids.
 */
import type { components } from "@/api/schema";

import { type Latency, latencyOf } from "./latency";

type Schemas = components["schemas"];
type Frames = Schemas["RunFrames"];

export type NetworkFrame = Frames["network"];
export type PredictedFrame = Frames["predicted"];
export type PhaseFrame = Frames["phase"];
export type FaultFrame = Frames["fault"];
export type StopAllFrame = Frames["stop-all"];
export type UpgradeFrame = Frames["upgrade"];
export type TickFrame = Frames["tick"];
/**
 * Ten ticks added up: what is told of the time that is long ago. Rates and CPU are means, queues
 * the longest.
 */
export type SecondFrame = Frames["second"];
export type Report = Frames["report"];
export type Predicted = Schemas["Predicted"];
export type ScheduledFault = Schemas["ScheduledFault"];
export type WindowMeans = Schemas["WindowMeans"];
export type Fidelity = Schemas["Fidelity"];
export type ReportedFault = Schemas["ReportedFault"];
/** Something that a server or the fabric reports. `flow` is a row of the workload's flows. */
export type SessionEvent = NonNullable<TickFrame["events"]>[number];
export type TickPhase = TickFrame["phase"];

type Pairs = NonNullable<TickFrame["retransmits"]>;
/** Of links: what is sent from a to b, and from b to a. */
type BothWays = NonNullable<TickFrame["queues"]>;

/**
 * A tick, or a second of them, as it is kept. Bytes since the one before, unless said otherwise.
 */
export interface Tick {
  /** Number of its frame in the run. */
  id: number;
  at: number;
  /** Since the one before. */
  secs: number;
  /**
   * Of `secs`, what is longer than a tick, or a second of them, normally takes: nothing was sampled
   * then. 0 for small delays.
   */
  missingSecs: number;
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
  /** Of requests that were answered; null without any. */
  latency: Latency | null;
  /** Bytes of MPTCP's subflows, by `SUBFLOWS` times the row of the flow plus the subflow. */
  subflows: Pairs;
  drops: Readonly<Record<string, number>>;
  counts: Readonly<Record<string, number>>;
}

/** The most subflows of a connection, by which ticks number them. */
export const SUBFLOWS = 9;

const NO_PAIRS: Pairs = [];
const NO_LINKS: BothWays = [];
const NOTHING: Readonly<Record<string, number>> = {};
/** Of the fabric's clock: what a tick stands for when there is none before it. */
const TICK_SECS = 0.1;
/** A tick that comes so much later than it is due is late, not missing. */
const LATE_SECS = 0.15;
/** Ticks of a frame that adds them up. */
export const TICKS_OF_SECOND = 10;

/** The time that a tick stands for. */
export function secsOf(frame: TickFrame, before: Tick | undefined): number {
  const since = before ? frame.at_secs - before.at : TICK_SECS;
  return since > 0 ? since : TICK_SECS;
}

/**
 * Of the seconds since the one before, how many nothing was sampled in; `ticks` are added up in the
 * frame.
 */
function missingSecsOf(secs: number, ticks: number): number {
  const due = ticks * TICK_SECS;
  const late = secs - due;
  return late > Math.max(LATE_SECS, due / 2) ? late : 0;
}

/** A frame of one tick, or of `ticks` of them, as it is kept. */
export function keptTick(
  id: number,
  frame: TickFrame,
  { secs, ticks }: { secs: number; ticks: number },
  unitBytes: number,
): Tick {
  const bytes = (column: number[]) => Uint32Array.from(column, (units) => units * unitBytes);
  return {
    id,
    at: frame.at_secs,
    secs,
    missingSecs: missingSecsOf(secs, ticks),
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
    latency: latencyOf(frame.latencies),
    queues: frame.queues ?? NO_LINKS,
    subflows: frame.subflows ?? NO_PAIRS,
    drops: frame.drops ?? NOTHING,
    counts: frame.counts ?? NOTHING,
  };
}

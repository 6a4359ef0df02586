/**
 * The frames of an emulation's stream, in the types that the API declares, and a tick as it is
 * stored. Columns of a tick are in the order of the `network` frame's columns: they are rows, not
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
 * Ten ticks added up, for the older part of a session. Rates and CPU are means, queues are maxima.
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

/** The columns of which a tick has only the rows with a value, as the contract declares them. */
type RowColumn = {
  [Name in keyof TickFrame]-?: NonNullable<TickFrame[Name]> extends number[][] ? Name : never;
}[keyof TickFrame];
/**
 * `[row, value]`, for links `[row, value from a to b, value from b to a]`. Subflows of MPTCP have
 * the row `SUBFLOWS` times that of the flow plus the subflow.
 */
type Rows = Readonly<Pick<TickFrame, RowColumn>>;

/**
 * A tick, or a second of ticks, as it is stored. Bytes are since the previous one, unless stated
 * otherwise.
 */
export interface Tick {
  /** Number of its frame in the run. */
  id: number;
  at: number;
  /** Since the one before. */
  secs: number;
  /**
   * The part of `secs` in excess of the normal length of a tick or second, in which nothing was
   * sampled. 0 for small delays.
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
  rows: Rows;
  /** Latency of the answered requests; null without any. */
  latency: Latency | null;
  drops: Readonly<Record<string, number>>;
  counts: Readonly<Record<string, number>>;
}

/** The most subflows of a connection, by which ticks number them. */
export const SUBFLOWS = 9;

const NOTHING: Readonly<Record<string, number>> = {};
/** The length of a tick without a predecessor, by the fabric's clock. */
const TICK_SECS = 0.1;
/** A tick that is later than due by up to this counts as late; beyond it, ticks are missing. */
const LATE_SECS = 0.15;
/** Ticks of a frame that adds them up. */
export const TICKS_OF_SECOND = 10;

/** The time that a tick covers. */
export function secsOf(frame: TickFrame, before: Tick | undefined): number {
  const since = before ? frame.at_secs - before.at : TICK_SECS;
  return since > 0 ? since : TICK_SECS;
}

/**
 * The part of the seconds since the previous tick in which nothing was sampled; `ticks` is the
 * number of ticks added up in the frame.
 */
function missingSecsOf(secs: number, ticks: number): number {
  const due = ticks * TICK_SECS;
  const late = secs - due;
  return late > Math.max(LATE_SECS, due / 2) ? late : 0;
}

/** The stored form of a frame with one tick, or with `ticks` of them. */
export function keptTick(
  id: number,
  frame: TickFrame,
  { secs, ticks }: { secs: number; ticks: number },
  unitBytes: number,
): Tick {
  // Events and routes are stored by the session.
  const { links, servers, flows, latencies, drops, counts, events, routes, ...rows } = frame;
  const bytes = (column: number[]) => Uint32Array.from(column, (units) => units * unitBytes);
  return {
    id,
    at: frame.at_secs,
    secs,
    missingSecs: missingSecsOf(secs, ticks),
    phase: frame.phase,
    ab: bytes(links.ab),
    ba: bytes(links.ba),
    abPackets: links.ab_packets ? Uint32Array.from(links.ab_packets) : null,
    baPackets: links.ba_packets ? Uint32Array.from(links.ba_packets) : null,
    received: bytes(servers.received),
    relayed: bytes(servers.relayed),
    serverCpu: Float32Array.from(servers.cpu),
    flows: flows ? bytes(flows.bytes) : null,
    goodput: frame.goodput_bits_per_sec,
    abt: frame.abt_bits_per_sec,
    cpu: frame.cpu,
    rows,
    latency: latencyOf(latencies),
    drops: drops ?? NOTHING,
    counts: counts ?? NOTHING,
  };
}

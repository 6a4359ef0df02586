/** The ways of breaking things: what each strikes, what it is called, the number it needs, and who knows it. */
import type { components } from "@/api/schema";

export type FaultKind = components["schemas"]["Fault"]["kind"];
export type FaultClass = "server" | "switch" | "link";

export interface FaultParameter {
  /** As the API names it. */
  name: "rate_bits_per_sec" | "loss_ratio" | "delay_secs";
  label: string;
  unit: string;
  /** What is typed times this is what is sent. */
  factor: number;
  /** As typed. */
  otherwise: number;
}

export interface FaultKindForm {
  kind: FaultKind;
  strikes: FaultClass | "any";
  title: string;
  detail: string;
  parameter?: FaultParameter;
  /** The flow engine knows it too; of the others real packets alone. */
  predicted?: true;
}

export const FAULT_KINDS: readonly FaultKindForm[] = [
  {
    kind: "down",
    strikes: "any",
    title: "Down",
    detail: "Servers and switches off, cables pulled: whatever the target is.",
    predicted: true,
  },
  {
    kind: "cable-pulled",
    strikes: "link",
    title: "Cable pulled",
    detail: "Both ends lose their carrier and notice at once.",
  },
  {
    kind: "cable-cut-silent",
    strikes: "link",
    title: "Cable cut silently",
    detail: "Nothing passes, but both ends still see a carrier: hellos must find it out.",
  },
  {
    kind: "port-down",
    strikes: "link",
    title: "Port down",
    detail: "The server’s port is shut.",
  },
  {
    kind: "link-rate",
    strikes: "link",
    title: "Link slower",
    detail: "The link goes on at a lower rate.",
    predicted: true,
    parameter: { name: "rate_bits_per_sec", label: "Rate left", unit: "Mb/s", factor: 1e6, otherwise: 10 },
  },
  {
    kind: "link-loss",
    strikes: "link",
    title: "Link loses packets",
    detail: "Some packets vanish, drawn by the seed.",
    predicted: true,
    parameter: { name: "loss_ratio", label: "Lost", unit: "%", factor: 0.01, otherwise: 5 },
  },
  {
    kind: "link-delay",
    strikes: "link",
    title: "Link slower to arrive",
    detail: "Every packet takes longer, each way.",
    parameter: { name: "delay_secs", label: "Delay", unit: "ms", factor: 0.001, otherwise: 20 },
  },
  {
    kind: "server-killed",
    strikes: "server",
    title: "Server killed",
    detail: "Its program dies; its ports stay up.",
  },
  {
    kind: "server-frozen",
    strikes: "server",
    title: "Server frozen",
    detail: "It is paused: it relays in the kernel but answers nobody.",
  },
  {
    kind: "server-off",
    strikes: "server",
    title: "Server off",
    detail: "It dies and its ports go down.",
  },
  {
    kind: "switch-silent",
    strikes: "switch",
    title: "Switch silent",
    detail: "It forwards nothing, but its ports keep their carrier.",
  },
  {
    kind: "switch-off",
    strikes: "switch",
    title: "Switch off",
    detail: "All its ports lose their carrier.",
  },
];

/** What an engine can be asked to break. */
export const kindsOf = (realPackets: boolean): FaultKindForm[] =>
  FAULT_KINDS.filter(({ predicted }) => realPackets || predicted);

export const faultKind = (kind: unknown): FaultKindForm =>
  FAULT_KINDS.find((form) => form.kind === kind) ?? FAULT_KINDS[0]!;

/** Kinds that can strike a thing of this class; `down` strikes any. */
export const kindsFor = (strikes: FaultClass | null): FaultKindForm[] =>
  FAULT_KINDS.filter((form) => strikes === null || form.strikes === strikes || form.strikes === "any");

/** The engine of a draft, and the fields of a draft that each engine supports. */
import { faultKind } from "@/shared/faults/fault-kinds";
import { isObject, type JsonObject, setIn } from "@/shared/plans/spec";
import { type Draft, faultsOf, plansOf, seedsOf, withFaults } from "./draft";

export type Engine = "flow" | "packet" | "emulation";

/** Sixteen servers, which any machine can emulate. */
export const SMALL_PLAN: JsonObject = { topology: { family: "bcube", n: 4, k: 1 } };
/** The server's default for the rate of a link. */
export const DEFAULT_LINK_GBPS = 0.1;

export const engineOf = (draft: Draft): Engine =>
  draft.engine === "emulation" || draft.engine === "packet" ? draft.engine : "flow";

/**
 * Switches a draft to another engine. An emulation runs once, on one plan with one seed.
 * Predictions support only faults that stop traffic or reduce capacity. A link rate for an
 * emulation does not suit the other engines, so it is removed; simulations and predictions share
 * theirs.
 */
export function withEngine(draft: Draft, engine: Engine): Draft {
  const from = engineOf(draft);
  if (engine === from) return draft;
  if (from !== "emulation" && engine !== "emulation") {
    const { engine: _, packet: __, link_load: ___, ...same } = draft;
    return (engine === "packet" ? { ...same, engine, packet: {} } : { ...same, link_load: true }) as Draft;
  }
  const {
    axes: _,
    link_gbps: __,
    link_load: ___,
    max_min: ____,
    flow_gigabits: _____,
    packet: ______,
    ...kept
  } = draft;
  if (engine === "emulation")
    return {
      ...kept,
      plan: plansOf(draft)[0]!,
      engine,
      emulation: {},
      seeds: seedsOf(draft).slice(0, 1),
    } as Draft;
  const { engine: _______, emulation: ________, ...flow } = kept;
  const plain = faultsOf(draft).map(({ target, at_secs, until_secs, kind, ...numbers }) => {
    const { predicted, parameters } = faultKind(kind);
    const own = parameters.map(({ name }) => [name, numbers[name]!]);
    return {
      target: target!,
      ...(at_secs !== undefined && { at_secs }),
      ...(until_secs !== undefined && { until_secs }),
      ...(predicted && kind !== undefined && { kind, ...Object.fromEntries(own) }),
    };
  });
  const computed = withFaults(flow as Draft, plain);
  return (
    engine === "packet" ? { ...computed, engine, packet: {} } : { ...computed, link_load: true }
  ) as Draft;
}

export const emulationOf = (draft: Draft): JsonObject => (isObject(draft.emulation) ? draft.emulation : {});

/** An empty object is all defaults: it stays, so that the draft is still one of real packets. */
export function withEmulation(draft: Draft, path: string, value: Parameters<typeof setIn>[2]): Draft {
  return { ...draft, emulation: setIn(emulationOf(draft), path, value) };
}

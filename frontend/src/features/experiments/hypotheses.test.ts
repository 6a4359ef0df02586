import { expect, test } from "vitest";
import type { Experiment } from "@/api/types";
import { draftOf, newDraft } from "./draft";
import { SMALL_PLAN, withEngine } from "./engine";
import { answeredHypotheses, hypothesesOf, metricsOf, withHypotheses } from "./hypotheses";

const ABT = { metric: "abt", bound: 1e9 };
const DROPS = { metric: "drops", bound: 0 };

test("one among an emulation's settings joins the list", () => {
  const draft = {
    ...withEngine(newDraft(SMALL_PLAN), "emulation"),
    emulation: { hypothesis: { bound: 0.5 } },
    hypotheses: [ABT],
  };
  const all = hypothesesOf(draft);
  expect(all).toEqual([{ metric: "goodput-share", bound: 0.5 }, ABT]);
  const listed = withHypotheses(draft, all);
  expect(listed).toMatchObject({ emulation: {}, hypotheses: all });
  expect(listed.emulation).not.toHaveProperty("hypothesis");
  expect(hypothesesOf(listed)).toEqual(all);
  expect(withHypotheses(newDraft(SMALL_PLAN), [])).not.toHaveProperty("hypotheses");
});

test("an engine is told only what it answers", () => {
  const draft = withHypotheses(withEngine(newDraft(SMALL_PLAN), "packet"), [ABT, DROPS]);
  expect(answeredHypotheses(draft).hypotheses).toEqual([DROPS]);
  expect(answeredHypotheses(withEngine(draft, "flow")).hypotheses).toEqual([ABT]);
  expect(metricsOf("emulation")).not.toContain("drops");
  expect(metricsOf("emulation")).toContain("latency-p99-secs");
});

test("a saved experiment's drawn faults are drawn again, not listed", () => {
  const listed = { target: { names: ["00"] }, at_secs: 1 };
  const schedule = { kinds: ["down"], mean_interval_secs: 1, count: 1 };
  const saved = {
    plan: { id: null, revision: null, spec: SMALL_PLAN },
    workload: { kind: "permutation" },
    engine: "packet",
    faults: [listed, { target: { names: ["01"] }, at_secs: 2 }],
    fault_schedules: [schedule],
    drawn_faults: 1,
    hypotheses: [DROPS],
    seeds: [7],
    topologies: [],
  } as unknown as Experiment;
  expect(draftOf(saved)).toMatchObject({
    faults: [listed],
    fault_schedules: [schedule],
    hypotheses: [DROPS],
  });
});

import { describe, expect, test } from "vitest";
import { ApiError } from "@/api/client";
import type { Experiment } from "@/api/types";
import {
  draftOf,
  failuresOf,
  newDraft,
  plansOf,
  pointsOf,
  ratiosText,
  readDraft,
  readNames,
  readRatios,
  readSeeds,
  seedsOf,
  seedsText,
  withFailures,
  withPlans,
  withSeeds,
} from "./draft";
import { fieldPath, messageAt, messagesOf } from "./messages";

const BCUBE = { topology: { family: "bcube", n: 4, k: 2 } };
const DCELL = { topology: { family: "dcell", n: 4, k: 1 } };

describe("the draft is the request's body", () => {
  test("one plan is no axis, several are", () => {
    const draft = newDraft(BCUBE);
    expect(plansOf(draft)).toEqual([BCUBE]);
    const two = withPlans(draft, [DCELL, BCUBE]);
    expect(two).toMatchObject({ plan: DCELL, axes: { topologies: [DCELL, BCUBE] } });
    expect(withPlans(two, [BCUBE])).toEqual(draft);
  });

  test("points are topologies times ratios of all kinds times seeds", () => {
    let draft = withPlans(newDraft(BCUBE), [BCUBE, DCELL]);
    expect(pointsOf(draft)).toBe(2);
    draft = withFailures(draft, ["switch", "server"], [0, 0.1, 0.2]);
    expect(failuresOf(draft).map(({ kind }) => kind)).toEqual(["server", "switch"]);
    draft = withSeeds(draft, [7, 8, 9, 10]);
    expect(pointsOf(draft)).toBe(2 * 2 * 3 * 4);
    expect(draft).not.toHaveProperty("link_load");
    expect(withFailures(draft, [], [0])).not.toHaveProperty("axes.failure");
  });

  test("seeds of the axes stand for the draft's own", () => {
    expect(seedsOf({ ...newDraft(BCUBE), seeds: [3], axes: { seeds: 3 } })).toEqual([3, 4, 5]);
    expect(seedsOf({ ...newDraft(BCUBE), axes: { seeds: [1, 9] } })).toEqual([1, 9]);
    expect(withSeeds({ ...newDraft(BCUBE), axes: { seeds: 3 } }, [5])).toEqual({
      ...newDraft(BCUBE),
      seeds: [5],
    });
  });

  test("a written experiment asks the same again, sparse", () => {
    const experiment = {
      plan: { id: "p1", revision: 2, spec: BCUBE },
      workload: { kind: "incast", count: 5 },
      routing: null,
      faults: [],
      link_gbps: null,
      max_min: null,
      flow_gigabits: 2,
      link_load: false,
      seeds: [7],
      axes: { topologies: [BCUBE, DCELL], failure: [{ kind: "link", ratios: [0, 0.5] }], seeds: null },
      topologies: [
        { plan_id: "p1", revision: 2 },
        { plan_id: null, revision: null },
      ],
    } as unknown as Experiment;
    expect(draftOf(experiment)).toEqual({
      plan: { id: "p1", revision: 2 },
      workload: { kind: "incast", count: 5 },
      flow_gigabits: 2,
      seeds: [7],
      axes: { topologies: [{ id: "p1", revision: 2 }, DCELL], failure: [{ kind: "link", ratios: [0, 0.5] }] },
    });
  });

  test("JSON without a plan is no draft; a workload may be its kind alone", () => {
    expect(readDraft({ workload: { kind: "all-to-all" } })).toBeNull();
    expect(readDraft([1])).toBeNull();
    expect(readDraft({ plan: BCUBE, workload: "permutation" })?.workload).toEqual({ kind: "permutation" });
  });
});

describe("what a person types", () => {
  test("ratios are percentages, listed or in steps", () => {
    expect(readRatios("0, 5, 10 %")).toEqual([0, 0.05, 0.1]);
    expect(readRatios("0-20/5")).toEqual([0, 0.05, 0.1, 0.15, 0.2]);
    expect(readRatios("20 10 10 2.5")).toEqual([0.025, 0.1, 0.2]);
    for (const text of ["", "x", "-5", "101", "10-0", "0-100/0", "0-100/0.01"])
      expect(readRatios(text), text).toBeNull();
    expect(ratiosText([0, 0.07, 0.125])).toBe("0, 7, 12.5");
    for (const ratios of [[0, 0.05, 0.1], [0.29], [0.57, 1]])
      expect(readRatios(ratiosText(ratios))).toEqual(ratios);
  });

  test("seeds are whole numbers, listed or in ranges", () => {
    expect(readSeeds("7")).toEqual([7]);
    expect(readSeeds("7-10, 3, 3")).toEqual([7, 8, 9, 10, 3]);
    for (const text of ["", "1.5", "a", "5-1", "0-5000"]) expect(readSeeds(text), text).toBeNull();
    for (const seeds of [[7], [7, 8], [7, 8, 9, 20, 3, 4, 5, 6]])
      expect(readSeeds(seedsText(seeds))).toEqual(seeds);
    expect(seedsText([7, 8, 9, 12])).toBe("7-9, 12");
  });

  test("names may hold commas", () => {
    expect(readNames("R07, <3,001>\n0132/<3,001>;  2,1,0")).toEqual([
      "R07",
      "<3,001>",
      "0132/<3,001>",
      "2,1,0",
    ]);
  });
});

describe("objections stand at their fields", () => {
  test("both ways of writing a path are the draft's", () => {
    expect(fieldPath("body.faults.2.target.ratio")).toBe("faults.2.target.ratio");
    expect(fieldPath("faults[0].target.names")).toBe("faults.0.target.names");
    expect(fieldPath("body")).toBe("");
  });

  test("each stands at its field or at what it is in, and says what to do", () => {
    const error = new ApiError({
      status: 422,
      title: "Unprocessable",
      detail: "",
      errors: [
        {
          field: "body.faults.0.target.ratio",
          message: "3 is more than 1.0.",
          limit: "at most 1.0",
          hint: "Give a value that is at most 1.0.",
          value: 3,
        },
        { field: "body.name", message: "Too long", hint: "", limit: "at most 120", value: "" },
      ],
      findings: [{ where: "routing", message: "There is no routing x.", hint: "Use one of bsr." }],
    } as never);
    const messages = messagesOf(error);
    expect(messageAt(messages, "faults.0.target")).toBe(
      "3 is more than 1.0. Give a value that is at most 1.0.",
    );
    expect(messageAt(messages, "routing")).toBe("There is no routing x. Use one of bsr.");
    expect(messageAt(messagesOf(new Error("away")), "routing")).toBeUndefined();
  });
});

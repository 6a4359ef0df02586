import { describe, expect, test } from "vitest";
import { afterEvent, ended } from "@/shared/answers/answer-stream";
import { initial, messageOf, questionOf } from "./question";
import { EMPTY, type FoundPoint, SEARCH, withPoint } from "./use-search";

const point = (number: number, meets = true): FoundPoint => ({
  number,
  title: `plan ${number}`,
  family: "tree",
  spec: { topology: { family: "tree", edge_ports: 4, servers: 8 } },
  values: { cost: number },
  meets,
  unharmed: false,
});
const running = { ...EMPTY, state: "running" as const };

describe("the front while it is searched", () => {
  test("a point that another replaces stays beside the front", () => {
    const first = withPoint(running, { point: point(1), on_front: true, replaces: [] });
    const second = withPoint(first, { point: point(2), on_front: true, replaces: [1] });
    const three = withPoint(second, { point: point(3, false), on_front: false, replaces: [] });
    expect(three.front.map(({ number }) => number)).toEqual([2]);
    expect(three.others.map(({ number }) => number)).toEqual([1, 3]);
  });

  test("a stream that ends without a result has failed; with a result the search is done", () => {
    expect(ended(SEARCH, running).state).toBe("failed");
    const received = afterEvent(SEARCH, running, {
      event: "result",
      data: { front: [point(1)], others: [] },
    });
    expect(ended(SEARCH, received).state).toBe("done");
    expect(ended(SEARCH, { ...running, state: "cancelled" }).state).toBe("cancelled");
  });
});

describe("the question of a form", () => {
  test("values go as they are typed, with their units; families are named only where some are left out", () => {
    const values = initial();
    const question = questionOf(values, ["bcube", "tree"]);
    expect(question.constraints).toContainEqual({ metric: "power", at_most: "400 kW" });
    expect(question.space).toEqual({});
    expect(questionOf({ ...values, without: ["tree"], seeds: "1, 2" }, ["bcube", "tree"])).toMatchObject({
      space: { families: ["bcube"] },
      failures: { kind: "switch", ratio: 0.1, seeds: [1, 2] },
    });
  });

  test("a mistake is shown at the row that the engine names", () => {
    const finding = { where: "constraints[1].at_most", message: "Not a number.", hint: "Type one." };
    expect([0, 1].map((row) => messageOf(row, [finding]))).toEqual([undefined, "Not a number. Type one."]);
  });
});

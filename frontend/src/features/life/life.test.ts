import { describe, expect, test } from "vitest";
import { afterEvent, ended, type Received } from "@/shared/answers/answer-stream";
import { bandSeries, computedSeries, fallenSeries } from "./curves";
import { initial, messageOf, questionOf } from "./question";
import { EMPTY, LIFE, type LifeDocument, type LifeState } from "./use-life";

const after = (state: LifeState, received: Received) => afterEvent(LIFE, state, received);

const plan = { topology: { family: "bcube", n: 4, k: 1 } };

describe("the question of a form", () => {
  test("sealed comes first, then visits, then the same with the kit", () => {
    const values = { ...initial(), visits: 6, below: 80, kit: true };
    const spares = values.spares;
    expect(questionOf(values, plan).policies).toEqual([
      {},
      { visit_months: 6 },
      { visit_below: 0.8 },
      { visit_months: 6, spares },
      { visit_below: 0.8, spares },
    ]);
    expect(questionOf({ ...values, visits: null, below: null }, plan).policies).toEqual([{}]);
  });

  test("percents become shares, and only changed rates are sent", () => {
    const question = questionOf({ ...initial(), rates: { disk: 2 }, floorAbt: 40 }, plan);
    expect(question.rates).toEqual({ disk: 0.02 });
    expect(question.floors).toEqual({ servers: 0.9, abt: 0.4 });
    expect(question).not.toHaveProperty("visit_price");
  });

  test("a mistake is shown at the field that the engine names", () => {
    const finding = { where: "policies[1].visit_months", message: "Too short.", hint: "Give more." };
    expect(messageOf("visit_months", [finding as never])).toBe("Too short. Give more.");
    expect(messageOf("years", [finding as never])).toBeUndefined();
  });
});

describe("the stream", () => {
  const running = { ...EMPTY, state: "running" as const };

  test("curves come policy by policy, the document last", () => {
    const received = [
      { event: "plan", data: { title: "BCube" } },
      { event: "servers", data: { policy: 0, curves: "a" } },
      { event: "servers", data: { policy: 1, curves: "b" } },
    ].reduce(after, running);
    expect([received.state, received.plan?.title, received.curves]).toEqual(["running", "BCube", ["a", "b"]]);
    expect(after(received, { event: "result", data: {} }).state).toBe("done");
    expect(ended(LIFE, received).state).toBe("failed");
    expect(ended(LIFE, { ...received, state: "cancelled" }).state).toBe("cancelled");
  });
});

describe("series of charts", () => {
  const below = { servers: { by_month: [0, 0.5] }, abt: { by_month: [0, 1] } };
  const document = {
    months: [0, 12],
    policies: [
      {
        title: "Sealed",
        below,
        computed_abt: [
          [12, 3],
          [12, 9],
          [12, 5],
        ],
      },
    ],
  } as unknown as LifeDocument;

  test("years along x, the band around the median", () => {
    const band = { p5: [10, 4], median: [10, 6], p95: [10, 8] };
    const [series] = bandSeries([0, 12], [{ title: "Sealed", band }]);
    expect(series?.points).toEqual([
      { x: 0, y: 10 },
      { x: 1, y: 6 },
    ]);
    expect(series?.band?.[1]).toEqual({ x: 1, low: 4, high: 8 });
  });

  test("computed states by month, and lives below a floor", () => {
    expect(computedSeries(document)[0]?.points).toEqual([{ x: 1, y: 5 }]);
    expect(fallenSeries(document, "abt")[0]?.points.at(-1)).toEqual({ x: 1, y: 1 });
  });
});

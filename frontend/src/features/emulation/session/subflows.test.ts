import { expect, test } from "vitest";
import type { NetworkFrame, SessionEvent, Tick } from "./frames";
import { networkOf } from "./network";
import { subflowRates, subflowsAt } from "./subflows";

const network = networkOf({
  servers: { id: [0, 1], name: ["0", "1"] },
  switches: { id: [4, 5], name: ["t0", "t1"] },
  links: { id: [], a: [], b: [], a_port: [], b_port: [], level: [] },
  flows: { source: [], destination: [], ideal_bits_per_sec: [] },
} as unknown as NetworkFrame);

const up = (at: number, flow: number, subflow: number, path: number[]): SessionEvent => ({
  kind: "subflow-up",
  server: 0,
  at_secs: at,
  at_nanos: null,
  flow,
  subflow,
  ports: [subflow, 0],
  path,
});
const down = (at: number, flow: number, subflow: number): SessionEvent => ({
  kind: "subflow-down",
  server: 0,
  at_secs: at,
  at_nanos: null,
  flow,
  subflow,
  reason: "closed",
});

const EVENTS = [
  up(1, 0, 1, [0, 5, 1]),
  up(1, 0, 0, [0, 4, 1]),
  up(1, 1, 0, [1, 4, 0]),
  down(3, 0, 1),
  up(5, 0, 1, [0, 4, 1]),
];

test("subflows are those of the flow, up or down as they were told last", () => {
  const at = (secs: number) =>
    subflowsAt(network, EVENTS, 0, secs).map(({ number, path, down }) => [number, path, down]);
  expect(at(0.5)).toEqual([]);
  expect(at(2)).toEqual([
    [0, [0, 2, 1], null],
    [1, [0, 3, 1], null],
  ]);
  expect(at(4)[1]).toEqual([1, [0, 3, 1], "closed"]);
  expect(at(6)[1]).toEqual([1, [0, 2, 1], null]);
});

test("rates are of the latest second, and of the flow alone", () => {
  const tick = (at: number, subflows: [number, number][]) => ({ at, secs: 0.1, subflows }) as unknown as Tick;
  const history = Array.from({ length: 30 }, (_, index) =>
    tick(
      index / 10,
      index % 10 === 5
        ? [
            [0, 1000 * index],
            [1, 500],
            [9, 77],
          ]
        : [],
    ),
  );
  const rates = subflowRates(history, 0, 2.9);
  expect([...rates.keys()]).toEqual([0, 1]);
  expect(rates.get(0)).toBeCloseTo(25_000 * 8, 3);
  expect([...subflowRates(history, 1, 2.9).keys()]).toEqual([0]);
});

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

const tickAt = (at: number, subflows: [number, number][]) =>
  ({ at, secs: 0.1, rows: { subflows } }) as unknown as Tick;
/**
 * Three seconds of ticks in which a flow's one subflow carries 1,000 bytes per second, reported at
 * these ticks.
 */
const sessionOf = (...reports: number[]) =>
  Array.from({ length: 30 }, (_, index) => {
    const before = reports.filter((report) => report < index).at(-1) ?? 0;
    return tickAt(index / 10, reports.includes(index) ? [[0, 100 * (index - before)]] : []);
  });

test("rates are of the latest second, and of the flow alone", () => {
  const history = Array.from({ length: 30 }, (_, index) =>
    tickAt(
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

test("reports that come late, or close together, change no rate", () => {
  expect(subflowRates(sessionOf(3, 13, 24), 0, 2.9).get(0)).toBeCloseTo(8000, 3);
  expect(subflowRates(sessionOf(3, 13), 0, 2.9).get(0)).toBeCloseTo(8000, 3);
  expect(subflowRates(sessionOf(3, 24, 27), 0, 2.9).get(0)).toBeCloseTo(8000, 3);
  expect(subflowRates(sessionOf(0, 14, 27), 0, 2.9).get(0)).toBeCloseTo(8000, 3);
});

test("a flow that has told nothing for seconds carries nothing", () => {
  const history = [...sessionOf(5), ...Array.from({ length: 30 }, (_, index) => tickAt(3 + index / 10, []))];
  expect(subflowRates(history, 0, 3).size).toBe(1);
  expect(subflowRates(history, 0, 5.9).size).toBe(0);
});

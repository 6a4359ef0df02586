import { describe, expect, test } from "vitest";
import { latencyOf, leastSecs } from "./latency";

describe("latencies", () => {
  // The same rows are in the tests of the node and of the recorder.
  test.each([
    [0, 0],
    [15, 15],
    [16, 16],
    [31, 31],
    [32, 32],
    [111, 992],
    [270, 983_040],
  ])("bucket %i begins at %i ns", (bucket, nanos) => {
    expect(leastSecs(bucket) * 1e9).toBeCloseTo(nanos, 6);
  });

  test("shares of the answers are in the middle of a bucket, and never beyond the longest", () => {
    const counts = { asked: 101, answered: 100, within_bound: 0, timed_out: 0, sum_secs: 1 };
    const latency = latencyOf({
      ...counts,
      max_secs: 0.00099,
      buckets: [
        [111, 98],
        [270, 2],
      ],
    });
    expect(latency?.median).toBeCloseTo(1.008e-6, 9);
    expect(latency).toMatchObject({ p99: 0.00099, max: 0.00099 });
  });

  test("without an answer there is no latency", () => {
    expect(latencyOf(undefined)).toBeNull();
    expect(
      latencyOf({
        asked: 3,
        answered: 0,
        within_bound: 0,
        timed_out: 1,
        sum_secs: 0,
        max_secs: 0,
        buckets: [],
      }),
    ).toBeNull();
  });
});

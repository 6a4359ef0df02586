import { expect, test } from "vitest";
import { placeText } from "./queue-place";

test("a queued run says what it waits for", () => {
  expect(placeText(null)).toBe("Waiting for a worker…");
  expect(placeText({ lane: "quick", before: 0, wait_secs: 0 })).toBe("Waiting for a worker…");
  expect(placeText({ lane: "long", before: 1, wait_secs: null })).toBe("Waiting: 1 run comes first");
  expect(placeText({ lane: "long", before: 3, wait_secs: 200 })).toBe(
    "Waiting: 3 runs come first, about 3 minutes",
  );
});

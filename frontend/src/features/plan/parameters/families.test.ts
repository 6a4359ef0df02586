import { expect, test } from "vitest";
import type { TopologySpec } from "@/shared/plans/spec";
import { bcubeGroups, listText, parseList, withBcubeSize, withGroups, withServers } from "./families";

const partial = { family: "bcube", n: 8, k: 3, servers: 2048 };

test("2,048 servers are 4 of 8 groups of BCube(8,3)", () => {
  expect(bcubeGroups(partial)).toEqual({ groups: 4, of: 8, groupServers: 512 });
  expect(bcubeGroups({ family: "bcube", n: 8, k: 3 })?.groups).toBe(8);
  expect(bcubeGroups({ ...partial, servers: 2049 })).toBeNull();
  expect(bcubeGroups({ family: "bcube", n: 8, k: 0 })).toBeNull();
});

test("all groups are the complete BCube", () => {
  expect(withGroups(partial, 2)).toEqual({ ...partial, servers: 1024 });
  expect(withGroups(partial, 8)).toEqual({ family: "bcube", n: 8, k: 3 });
});

test("another n or k keeps whole groups", () => {
  for (let n = 2; n <= 16; n++) expect(bcubeGroups(withBcubeSize(partial, "n", n))).not.toBeNull();
  for (let k = 1; k <= 4; k++) expect(bcubeGroups(withBcubeSize(partial, "k", k))?.groups).toBe(4);
  expect(withBcubeSize({ family: "bcube", n: 8, k: 3 }, "n", 4)).toEqual({ family: "bcube", n: 4, k: 3 });
});

test("lists are read with and without spaces", () => {
  expect(parseList("10, 25")).toEqual([10, 25]);
  expect(parseList("10")).toBe(10);
  expect(parseList(" ")).toBeUndefined();
  expect(parseList("10, x")).toBeNull();
  expect(parseList(listText([1, 2.5]))).toEqual([1, 2.5]);
});

test("the same number of servers on other switches takes other levels", () => {
  const paper = { family: "bcube", n: 8, k: 3, servers: 2048 } as TopologySpec;
  expect(withServers({ ...paper, n: 4, servers: 128 } as TopologySpec, 2048)).toEqual({
    family: "bcube",
    n: 4,
    k: 5,
    servers: 2048,
  });
  expect(withServers({ ...paper, n: 2, k: 3 } as TopologySpec, 256)).toEqual({ family: "bcube", n: 2, k: 7 });
  expect(withServers({ ...paper, n: 6 } as TopologySpec, 2048)).toBeNull();
  expect(withServers({ family: "dcell", n: 4, k: 1 } as TopologySpec, 20)).toBeNull();
});

import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { NetworkFrame } from "../session/frames";
import { networkOf } from "../session/network";
import { type Inspection, InspectionSections } from "./inspection-sections";

const network = networkOf({
  servers: { id: [0, 1], name: ["00", "01"] },
  switches: { id: [4], name: ["<0,0>"] },
  links: { id: [0, 1], a: [0, 1], b: [4, 4], a_port: [0, 0], b_port: [0, 1], level: [0, 0] },
  flows: { source: [0], destination: [1], ideal_bits_per_sec: [1e6] },
} as unknown as NetworkFrame);

const drawn = (inspection: Inspection) =>
  renderToStaticMarkup(<InspectionSections inspection={inspection} network={network} onSelect={() => {}} />);

/** Texts of the cells of the first table, row by row. */
const cells = (html: string) =>
  [...html.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row]) =>
    [...row!.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, cell]) => cell!.replaceAll(/<[^>]+>/g, "")),
  );

test("each kind of column is drawn, and a null of any kind is a dash", () => {
  const kinds = [
    ["server", 1, "01"],
    ["server", "01", "01"],
    ["servers", [0, 1], "00 · 01"],
    ["flow", { src: "00", dst: "01", proto: 6, sport: 1, dport: 80 }, "00 → 01 port 80"],
    ["flow", { src: "00", dst: "01", proto: 6, sport: 1, dport: 80, flow: 0 }, "00 → 01"],
    ["paths", [{ path_id: 3, servers: [0, 1], available_bits_per_sec: 2e6 }], "00 · 01 2.00\u00a0Mb/s free"],
    ["port", 3, "3"],
    ["count", 1234, "1,234"],
    ["bits-per-sec", 5e6, "5.00\u00a0Mb/s"],
    ["secs", 0.25, "0.3\u00a0s"],
    ["flag", true, "yes"],
    ["flag", false, "no"],
    ["path-id", 7, "7"],
    ["text", "alive", "alive"],
  ] as const;
  const html = drawn({
    counts: {},
    sections: [
      {
        name: "all",
        title: "All kinds",
        columns: kinds.map(([kind], at) => ({ name: `c${at}`, title: `T${at}`, kind })),
        rows: [kinds.map(([, value]) => value), kinds.map(() => null)],
        omitted: 2,
      },
    ],
  });
  const [head, row, nulls] = cells(html);
  expect(head).toEqual(kinds.map((_, at) => `T${at}`));
  expect(row!.map((text) => text.replaceAll(/[\u202f\u2009]/g, "\u00a0"))).toEqual(
    kinds.map(([, , text]) => text),
  );
  expect(nulls).toEqual(kinds.map(() => "–"));
  expect(html).toContain("All kinds (4)");
  expect(html).toContain("2 more rows not shown");
});

test("servers of the network can be opened, others are text; counts come first", () => {
  const html = drawn({
    counts: { "sent-bytes": 5000 },
    sections: [
      {
        name: "neighbours",
        title: "Neighbours",
        columns: [{ name: "server", title: "Neighbour", kind: "server" }],
        rows: [[0], ["elsewhere"]],
        omitted: 0,
      },
      { name: "failed-links", title: "Failed links", columns: [], rows: [], omitted: 0 },
    ],
  });
  expect(html.match(/<button/g)).toHaveLength(1);
  expect(html).toContain("Sent bytes");
  expect(html.indexOf("5,000")).toBeLessThan(html.indexOf("Neighbours"));
  expect(html).toContain("None");
});

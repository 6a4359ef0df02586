import { expect, test } from "vitest";
import { type Entry, matrixText, readMatrix } from "./matrix-text";

test("a matrix is lines of sender, receiver and weight, with or without names of columns", () => {
  expect(readMatrix('# comment\n000,001,2\r\n"2,1,0",003\n\n004,005,0.5')).toEqual([
    ["000", "001", 2],
    ["2,1,0", "003", 1],
    ["004", "005", 0.5],
  ]);
  for (const header of ["weight;DST;Source", "Weight\tTo\tFrom", '"weight",destination,src'])
    expect(readMatrix(`\uFEFF${header}\n${["3", "b", "a"].join(/[\t;,]/.exec(header)![0])}`)).toEqual([
      ["a", "b", 3],
    ]);
  expect(readMatrix(";a;b\na;0;2,5\nb;;-")).toEqual([["a", "b", 2.5]]);
  expect(readMatrix("")).toEqual([]);
});

test("the decimal mark is that of the whole text", () => {
  expect(readMatrix("a;b;0,5\na;c;1.250\na;d;2")).toEqual([
    ["a", "b", 0.5],
    ["a", "c", 1250],
    ["a", "d", 2],
  ]);
  expect(readMatrix("a,b,1.250")).toEqual([["a", "b", 1.25]]);
  expect(readMatrix('a,b,"1,250"')).toEqual([["a", "b", 1250]]);
  expect(readMatrix("a;b;２e3")).toEqual([["a", "b", 2000]]);
});

test.each([
  ["000,001\n002", "Line 2 needs a sender"],
  ["000,001,x", "weight “x”"],
  ["a,b,0x10", "weight “0x10”"],
  ["a,b,-1", "weight “-1”"],
  ["a,b,Infinity", "weight “Infinity”"],
  ["a;b;1.250", "1.25 or 1250"],
  ["a;b;1,250", "1250 or 1.25"],
  ["source,destination,start_ms\na,b,5", "“start_ms” is no column"],
  ["Source,Destination,Bytes\na,b,5", "“Bytes” is no column"],
  ["source,destination,kilobytes\na,b,5", "“kilobytes” is no column"],
  ["source,destination,from\na,b,c", "source twice"],
  ["source,destination,weight", "no flow below"],
  ["a,b,1000,0.5", "4 cells"],
  ["a,b,1\nc,d,1,5", "Line 2 has 4 cells"],
  ["a;b;1\nc,d,1", "Line 2 needs a sender"],
  ["a,b\na,a", "Line 2 is a flow from a to itself"],
  [",a,b\na,1,2\nb,3,0", "from a to itself"],
  [",a,b\na,0,2\nc,3,0", "not those along the top"],
])("%j is refused", (text, says) => {
  expect(() => readMatrix(text)).toThrow(says);
});

test("what the page writes it reads again", () => {
  const names = ["a", "0,1", 'a "b"', "x;y", "#1", "<3,001>", "R 1"];
  const weights = [0, 1, 0.1, 1.25, 1234.567, 1e21, 1e-7, 123456];
  const entries = names.flatMap((from, i) =>
    names
      .filter((to) => to !== from)
      .map((to, j): Entry => [from, to, weights[(i * names.length + j) % weights.length]!]),
  );
  for (const entry of entries) expect(readMatrix(matrixText([entry]))).toEqual([entry]);
  expect(readMatrix(matrixText(entries))).toEqual(entries);
});

import { describe, expect, it } from "vitest";
import { textOf } from "./file-text";

const TEXT = "Gerät;Länge\nа1;3,5 m\n";

function utf16(text: string, littleEndian: boolean): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(text.length * 2));
  for (let i = 0; i < text.length; i++) view.setUint16(i * 2, text.charCodeAt(i), littleEndian);
  return new Uint8Array(view.buffer);
}

describe("the text of a file", () => {
  it.each([
    ["UTF-8", new TextEncoder().encode(TEXT)],
    ["UTF-8 with a mark", new TextEncoder().encode(`\uFEFF${TEXT}`)],
    ["UTF-16, little endian, with a mark", utf16(`\uFEFF${TEXT}`, true)],
    ["UTF-16, big endian, with a mark", utf16(`\uFEFF${TEXT}`, false)],
    ["UTF-16, little endian", utf16(TEXT, true)],
    ["UTF-16, big endian", utf16(TEXT, false)],
  ])("is read from %s", async (_, bytes) => {
    expect(await textOf(new Blob([bytes]))).toBe(TEXT);
  });

  it("is read from Windows-1252", async () => {
    const bytes = Uint8Array.from("Gerät;Länge", (letter) => letter.charCodeAt(0));
    expect(await textOf(new Blob([bytes]))).toBe("Gerät;Länge");
  });

  it("of an empty file is empty", async () => {
    expect(await textOf(new Blob([]))).toBe("");
  });
});

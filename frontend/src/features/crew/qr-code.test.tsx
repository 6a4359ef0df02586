import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { QrCode } from "./qr-code";

test("a label's picture has the modules that another encoder makes (ZXing, level M), inside a quiet zone of four", () => {
  const svg = renderToStaticMarkup(<QrCode text="R07-12B:P3/R15-36:P7" label="QR code" />);
  expect(svg).toContain('viewBox="0 0 29 29"');
  const rows = Array.from({ length: 21 }, () => 0);
  for (const [, x, y] of svg.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) rows[Number(y) - 4]! += 2 ** (24 - Number(x));
  expect(rows.map((row) => row.toString(16)).join(" ")).toBe(
    "1fd07f 105a41 17535d 17445d 17535d 104b41 1fd57f d00 13f097 8be6 c54da 198f93 262ee 1cd3 1fdc94 105694 17575c 175578 174b03 10418a 1fda3e",
  );
});

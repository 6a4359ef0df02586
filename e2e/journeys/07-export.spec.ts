import { readFile } from "node:fs/promises";
import { strFromU8, unzipSync } from "fflate";
import { expect, openPlan, test } from "./page";

const EXPORTS: Record<string, (file: Buffer) => void> = {
  "Workbook (XLSX)": (file) => {
    const parts = unzipSync(file);
    expect(strFromU8(parts["xl/workbook.xml"]!)).toContain("<sheet ");
    expect(
      Object.keys(parts).filter((name) => /^xl\/worksheets\/sheet\d+\.xml$/.test(name)).length,
    ).toBeGreaterThan(30);
  },
  "Install pack (PDF)": (file) => {
    expect(file.subarray(0, 5).toString()).toBe("%PDF-");
    expect(file.subarray(-64).toString("latin1")).toContain("%%EOF");
  },
  NetBox: (file) => {
    const parts = unzipSync(file);
    const pieces = Object.entries(parts)
      .filter(([name]) => /16-cables-\d+\.csv$/.test(name))
      .map(([, piece]) => strFromU8(piece).trim().split(/\r?\n/));
    expect(pieces.reduce((sum, lines) => sum + lines.length - 1, 0)).toBe(8192);
    for (const lines of pieces) {
      expect(lines.length).toBeLessThanOrEqual(251);
      expect(lines[0]).toContain("side_a_device");
    }
  },
  "Cable schedule (CSV)": (file) => expect(file.toString().trim().split("\n")).toHaveLength(8193),
};

test("the workbook, the install pack and the NetBox import are downloaded and open", async ({ page }) => {
  test.setTimeout(120_000);
  await openPlan(page);
  await page.getByRole("button", { name: "Export" }).click();
  const menu = page.getByRole("dialog", { name: "Export the plan" });
  for (const [title, opens] of Object.entries(EXPORTS)) {
    const download = page.waitForEvent("download", { timeout: 60_000 });
    await menu.getByRole("button", { name: title }).first().click();
    const file = await (await download).path();
    opens(await readFile(file));
    await expect(menu.getByRole("listitem").filter({ hasText: title }).first()).toContainText(/[KM]B/);
  }
});

test("every format on offer gives a file that is not empty", async ({ page }) => {
  const formats = (await (await page.request.get("/api/v1/exports")).json()) as {
    items: { name: string; media_type: string }[];
  };
  expect(formats.items.length).toBeGreaterThanOrEqual(10);
  for (const { name } of formats.items) {
    const answer = await page.request.post(`/api/v1/exports/${name}`, {
      // htsim's file describes Clos networks only.
      data: {
        spec: {
          topology:
            name === "htsim"
              ? { family: "fat_tree", ports: 4, layers: 3 }
              : { family: "bcube", n: 4, k: 1 },
        },
      },
    });
    expect(answer.status(), name).toBe(200);
    expect((await answer.body()).length, name).toBeGreaterThan(100);
  }
});

test("the install pack of a saved plan shows how far it is, in the menu and at the foot", { tag: "@long" }, async ({
  page,
}) => {
  await openPlan(page, '/plans/new?topology={"family":"bcube","n":8,"k":3,"servers":2048}');
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("button", { name: "Saved" })).toBeVisible();
  await page.getByRole("button", { name: "Export" }).click();
  const item = page
    .getByRole("dialog", { name: "Export the plan" })
    .getByRole("listitem")
    .filter({ hasText: "Install pack" });
  const shares = new Set<number>();
  const download = page.waitForEvent("download", { timeout: 100_000 });
  await item
    .getByRole("button", { name: /Install pack/ })
    .first()
    .click();
  await expect(page.getByTestId("exporting")).toContainText(/Install pack.*%/);
  let over = false;
  void download.then(() => {
    over = true;
  });
  while (!over) {
    const value = await item
      .getByRole("progressbar")
      .getAttribute("value", { timeout: 300 })
      .catch(() => null);
    if (value !== null) shares.add(Number(value));
    await page.waitForTimeout(200);
  }
  const moved = [...shares];
  expect(moved.length).toBeGreaterThan(2);
  expect(moved).toEqual([...moved].sort((a, b) => a - b));
  expect((await readFile((await (await download).path())!)).subarray(0, 4).toString()).toBe("%PDF");
  await expect(page.getByTestId("exporting")).toHaveCount(0);
});

test("a long export can be cancelled", { tag: "@long" }, async ({ page, quiet }) => {
  quiet.expectErrors();
  await openPlan(page);
  await page.route("**/exports/pdf", async (route) => {
    await new Promise((done) => setTimeout(done, 5000));
    await route.continue().catch(() => {});
  });
  await page.getByRole("button", { name: "Export" }).click();
  await page
    .getByRole("button", { name: /Install pack/ })
    .first()
    .click();
  await page.getByRole("button", { name: "Cancel the export" }).click();
  await expect(page.getByText("Export cancelled")).toBeVisible();
  await expect(page.getByRole("button", { name: /Install pack/ }).first()).toBeEnabled();
});

test("the plan prints with its numbers and its whole bill of materials", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await page.emulateMedia({ media: "print" });
  await expect(page.getByRole("heading", { name: "Bill of materials" })).toBeVisible();
  await expect(page.locator("header")).toBeHidden();
  const pdf = await page.pdf({ format: "A4", landscape: true });
  expect(pdf.length).toBeGreaterThan(20_000);
  // The drawings are made when printing starts, as vectors, and forgotten afterwards.
  await expect(page.getByRole("img", { name: "Rack elevations" })).toHaveCount(0);
});

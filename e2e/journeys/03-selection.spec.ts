import type { Page } from "@playwright/test";
import { expect, grid, openPlan, test } from "./page";

/** Selects a thing by its name in the palette. */
async function find(page: Page, name: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run a command" }).fill(name);
  await expect(page.getByRole("listbox", { name: "Commands" }).getByRole("option").first()).toContainText(
    name,
  );
  await page.keyboard.press("Enter");
}

test("one selection lights up everywhere: palette, canvas, tables, inspector and address", async ({
  page,
}) => {
  await openPlan(page);
  await find(page, "R11");
  const side = page.getByRole("complementary");
  await expect(side).toContainText("Selection · R11");
  await expect(side).toContainText("64 / 40");
  await expect(page.getByRole("tab", { name: /^Cables/ })).toContainText("360 of 8,192");
  await expect(page.getByRole("tab", { name: /^Racks/ })).toContainText("1 of 32");
  await expect(page).toHaveURL(/sel=rack:R11/);

  for (const view of ["Logical", "Matrix", "3D", "Floor"]) {
    await page.getByRole("tab", { name: view }).click();
    await expect(side).toContainText("Selection · R11");
  }
  await page.getByRole("tab", { name: /^BOM/ }).click();
  await expect(grid(page).getByRole("columnheader", { name: "Selected" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(side).not.toContainText("Selection · R11");
  await expect(page.getByRole("tab", { name: /^Cables/ })).toContainText("8,192");
});

test("a device is traced port by port to rack, unit and port at the far end", { tag: "@long" }, async ({ page }) => {
  await openPlan(page, "/?sel=device:0132");
  const side = page.getByRole("complementary");
  await expect(side).toContainText("Selection · 0132");
  const ports = side.getByRole("table", { name: "Connections by port" });
  // [bcube §3.1]: port l of server a_3 a_2 a_1 a_0 goes to the level-l switch of its other digits, there to port a_l.
  for (const [port, peer, far] of [
    ["eth0", "s0-013", "P2"],
    ["eth1", "s1-012", "P3"],
    ["eth2", "s2-032", "P1"],
    ["eth3", "s3-132", "P0"],
  ] as const) {
    const row = ports.getByRole("row").filter({ hasText: peer });
    await expect(row).toContainText(port);
    await expect(row).toContainText(new RegExp(`R01-\\d+[A-D]?:${port}/R\\d\\d-\\d+[A-D]?:${far}`));
  }
  await ports.getByRole("button", { name: "s3-132" }).click();
  await expect(side).toContainText("Switch, L3");
  await expect(side).toContainText("4 of 8");
});

test("a cable chosen in the table shows both labels, mirrored", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await grid(page).getByRole("row").filter({ hasText: "C00003" }).click();
  const side = page.getByRole("complementary");
  await expect(side).toContainText("Selection · C00003");
  const labels = side.locator("code");
  const [near, far] = [await labels.nth(0).innerText(), await labels.nth(1).innerText()];
  expect(near).toMatch(/^R\d\d-\d+[A-D]?:eth\d\/R\d\d-\d+[A-D]?:P\d$/);
  expect(far).toBe(near.split("/").reverse().join("/"));
  await expect(page).toHaveURL(/sel=cable:C00003/);
});

test("a click on the floor plan selects, and the legend selects a level", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  const box = (await page.getByTestId("plan-canvas").boundingBox())!;
  const side = page.getByRole("complementary");
  // Racks form two rows: click along the upper one until a rack is hit.
  for (let at = 0.3; at < 0.7; at += 0.05) {
    await page.mouse.click(box.x + box.width * at, box.y + box.height * 0.33);
    if (await side.getByText(/Selection · \S/).count()) break;
  }
  await expect(side.getByText(/Selection · \S/)).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /L3/ }).first().click();
  await expect(side).toContainText("Selection · L3");
  await expect(page.getByRole("tab", { name: /^Cables/ })).toContainText("2,048 of 8,192");
});

test("tables sort, filter, copy and are saved as CSV, by keyboard too", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await page.getByRole("columnheader", { name: "Routed" }).getByRole("button").click();
  await page.getByRole("columnheader", { name: "Routed" }).getByRole("button").click();
  await expect(page.getByRole("columnheader", { name: "Routed" })).toHaveAttribute("aria-sort", "descending");
  await expect(grid(page).getByRole("row").nth(1)).toContainText("L3");
  // The order is part of the address.
  await page.reload();
  await expect(page.getByRole("columnheader", { name: "Routed" })).toHaveAttribute("aria-sort", "descending");

  await page.getByRole("searchbox", { name: "Filter Cables" }).fill("R07 s2-");
  await expect(page.getByRole("tab", { name: /^Cables/ })).toContainText(/[1-9]\d* of 8,192/);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  expect((await download).suggestedFilename()).toBe("cables-filtered.csv");

  await page.getByRole("searchbox", { name: "Filter Cables" }).fill("");
  await grid(page).focus();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("complementary")).toContainText(/Selection · C\d{5}/);
  await expect(page.getByRole("tab", { name: /^Cables/ })).toContainText("1 of 8,192");
});

test("the page's labels are the label printer's, in every family", { tag: "@long" }, async ({ page }) => {
  test.setTimeout(120_000);
  for (const topology of [
    { family: "bcube", n: 4, k: 2, servers: 32 },
    { family: "dcell", n: 4, k: 1 },
    { family: "torus3d", x: 2, y: 3, z: 4 },
    { family: "fat_tree", ports: 4, layers: 3 },
    { family: "tree", edge_ports: 8, servers: 32 },
    { family: "subways", type: 1, p: 2, q: 8, l: 4, clusters: 2 },
  ]) {
    const answer = await page.request.post("/api/v1/exports/labels", {
      data: { spec: { topology, catalog: "current-2026" } },
    });
    const near = (await answer.text())
      .split(/\r?\n/)
      .map((line) => line.match(/^"?([^",]+(?:,[^",]+)*)"?,(C\d+),near,/))
      .filter((match) => match !== null);
    expect(near.length).toBeGreaterThan(10);
    await openPlan(page, `/plans/new?topology=${encodeURIComponent(JSON.stringify(topology))}`);
    for (const match of [near[0]!, near[near.length >> 1]!, near.at(-1)!]) {
      const [, label, cable] = match;
      await find(page, cable!);
      await expect(page.getByRole("complementary").locator("code").first(), topology.family).toHaveText(
        label!,
      );
    }
  }
});

test("the inspector of a tray and the table beside it count the same cables", { tag: "@long" }, async ({ page }) => {
  for (const name of ["T00-03", "T00-10", "T01-06", "X05-01"]) {
    await openPlan(page, `/?sel=tray:${name}`);
    const side = page.getByRole("complementary", { name: "Totals and selection" });
    const tray = side.getByRole("region", { name: `Selection · ${name}` });
    // The tray's number of cables, from the engine, and the number of selected cables along its
    // routes.
    await expect(tray).toContainText(/Cables[\d,]+Cross-section/);
    const [, held] = /Cables([\d,]+)Cross-section/.exec((await tray.textContent())!)!;
    await expect(tray).toContainText(`Cables selected${held} of 8,192`);
    await expect(page.getByRole("tab", { name: /^Cables/ })).toContainText(`${held} of 8,192`);
  }
});

test("a click on the longest cable selects it", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  const longest = page.locator('[data-total="longest"]').getByRole("button");
  const length = (await longest.textContent())!;
  await longest.click();
  await expect(page).toHaveURL(/sel=cable:C/);
  await expect(page.getByRole("complementary", { name: "Totals and selection" })).toContainText(
    `Routed length${length}`,
  );
});

import { accessible, expect, test } from "./page";

test("compared plans are predicted together: whole, and with failures, against the base", { tag: "@long" }, async ({
  page,
}, info) => {
  const make = async (name: string, topology: Record<string, unknown>) => {
    const answer = await page.request.post("/api/v1/plans", { data: { name, spec: { topology } } });
    expect(answer.status()).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  };
  const cube = await make("A cube", { family: "bcube", n: 4, k: 2 });
  const tree = await make("A tree", { family: "tree", edge_ports: 16, servers: 64 });
  await page.goto(`/compare?plans=${cube},${tree}`);
  const table = page.getByRole("table").first();
  const bisection = table.getByRole("row", { name: /^Bisection width/ });
  await expect(bisection).toContainText(/exact|bound/);
  await expect(table.getByRole("row", { name: /^Faults tolerated/ })).toBeVisible();
  // Throughput is the first row, filled before any run was started.
  const whole = table.getByRole("row", { name: /^ABT, no failure/ });
  await expect(whole.getByRole("cell").nth(1)).toContainText("Gb/s");
  await expect(table.getByRole("row").nth(2)).toContainText("ABT, no failure");
  const own = table.getByRole("row", { name: /^Flows of failed servers/ });
  await expect(own.getByRole("cell").first()).toContainText("%");

  const section = page.getByRole("region", { name: "Throughput and degradation" });
  await expect(section).toContainText("32 points");
  await section.getByRole("button", { name: "Predict" }).click();
  await expect(section.getByRole("figure", { name: "ABT under server failures" })).toBeVisible();
  await expect(
    section.getByRole("figure", { name: "Flows cut off between live servers under switch failures" }),
  ).toBeVisible();
  await expect(
    table
      .getByRole("row", { name: /^Bottleneck degree/ })
      .getByRole("cell")
      .first(),
  ).toContainText(/\d/);
  const left = table.getByRole("row", { name: /^ABT, 10.% of switches failed/ });
  await expect(left.getByRole("cell").nth(1)).toContainText("Gb/s");

  // Another base does not cause a new computation.
  await table
    .getByRole("columnheader")
    .filter({ hasText: "A tree" })
    .getByRole("button", { name: "Make base" })
    .click();
  await expect(whole.getByRole("cell").first()).toContainText(/\+/);
  await page.reload();
  await expect(whole.getByRole("cell").first()).toContainText(/\+/);
  await expect(section.getByRole("button", { name: "Predict" })).toHaveCount(0);
  for (const theme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
    await section.scrollIntoViewIfNeeded();
    await page.waitForTimeout(300);
    await page.screenshot({ path: info.outputPath(`degradation-${theme}.png`) });
    await accessible(page);
  }
  await page.getByRole("radio", { name: "Charts" }).click();
  await expect(page.getByRole("figure", { name: /ABT, no failure/ })).toBeVisible();
  await section.getByRole("link", { name: "Open the run" }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page.getByRole("grid", { name: "Points of the run" })).toHaveAttribute("aria-rowcount", "33");
});

import type { Page, TestInfo } from "@playwright/test";
import { accessible, expect, test } from "./page";

async function looks(page: Page, info: TestInfo, name: string): Promise<void> {
  for (const theme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
    await page.waitForTimeout(300);
    await page.screenshot({ path: info.outputPath(`${name}-${theme}.png`) });
    await accessible(page);
  }
}

test("a published figure stands beside ours and is computed again", async ({ page }, info) => {
  await page.goto("/figures");
  await expect(page.getByRole("heading", { name: "Figures" })).toBeVisible();
  await expect(page.getByRole("region", { name: /^BCube/ }).getByRole("row")).not.toHaveCount(0);
  await expect(page.getByRole("region", { name: /^Subways/ })).toContainText("§7.2.1, Table 2");
  await accessible(page);

  await page.getByRole("link", { name: "Packaging and wiring of a container" }).click();
  await expect(page).toHaveURL(/\/figures\/bcube-packaging$/);
  await page.getByLabel("Seeds").fill("2");
  await page.getByRole("button", { name: /^(Run|Run again)$/ }).click();
  await expect(page.getByRole("button", { name: "Run again" })).toBeEnabled({ timeout: 40_000 });

  const numbers = page.getByRole("region", { name: "Numbers" });
  const row = (name: string) => numbers.getByRole("row").filter({ hasText: name });
  await expect(row("space for them")).toContainText("175.9");
  await expect(row("space for them")).toContainText("match");
  await expect(row("worst single cut")).toContainText("bound holds");
  await expect(row("worst single cut")).toContainText("upper bound that no cut reaches");
  await expect(
    page.getByText(/^modelled · engine flow .* seeds 0, 1 · paper \[bcube §5\.2\] · run/),
  ).toBeVisible();
  await expect(page.getByText("modelled", { exact: true })).toBeVisible();
  await looks(page, info, "packaging");

  await page.getByRole("button", { name: "API calls for this page" }).click();
  await expect(page.getByRole("dialog")).toContainText("/api/v1/figures/bcube-packaging/runs");
  await page.keyboard.press("Escape");

  // A figure of lines, in the paper's shape.
  await page.goto("/figures/bcube-fig11");
  await page.getByRole("button", { name: /^(Run|Run again)$/ }).click();
  await expect(page.getByRole("img", { name: /total throughput/ })).toBeVisible({ timeout: 40_000 });
  await expect(page.getByRole("button", { name: "Run again" })).toBeEnabled();
  await looks(page, info, "all-to-all");

  // The list contains both results.
  await page.getByRole("link", { name: "Figures", exact: true }).first().click();
  const listed = page.getByRole("row").filter({ hasText: "Packaging and wiring" });
  await expect(listed).toContainText("11 match");
  await expect(listed).toContainText("1 bound holds");
  await looks(page, info, "list");
});

test("seeds out of range are refused in words", { tag: "@long" }, async ({ page, quiet }) => {
  quiet.expectErrors();
  await page.goto("/figures/bcube-packaging");
  await page.getByLabel("Seeds").fill("5000");
  await page.getByRole("button", { name: /^(Run|Run again)$/ }).click();
  await expect(page.getByRole("alert")).toContainText("seeds");
});

test("a long run shows its progress and can be cancelled", { tag: "@long" }, async ({ page }) => {
  await page.goto("/figures/bcube-fig8-server");
  await page.getByLabel("Seeds").fill("1000");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("progressbar", { name: "Progress of the run" })).toBeVisible();
  await expect(page.getByRole("status").filter({ hasText: "Running" })).toBeVisible();
  await accessible(page);
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("status").filter({ hasText: "cancelled" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Run", exact: true })).toBeEnabled();
  await expect(page.getByTestId("origin")).toHaveText(/^Reference result of engine/);
  await expect(page.getByRole("region", { name: "Numbers" })).toBeVisible();
});

test("every computed figure has a result before it is run, and a run says whether it is the same", { tag: "@long" }, async ({
  page,
}) => {
  await page.goto("/figures/camcube-table1");
  await expect(page.getByTestId("origin")).toHaveText(/^Reference result of engine/);
  await expect(page.getByRole("region", { name: "Numbers" }).getByRole("row")).not.toHaveCount(0);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByTestId("origin")).toHaveText(
    "Computed here: the same numbers as the reference, to the last digit",
    { timeout: 60_000 },
  );
});

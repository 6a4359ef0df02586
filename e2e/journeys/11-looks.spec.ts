import { accessible, drawn, expect, openPlan, test } from "./page";

const PAGES: [name: string, path: string, ready: string][] = [
  ["plan", "/?sel=rack:R11", "Selection · R11"],
  ["logical", "/?view=logical&tab=bom&sel=device:0132", "Selection · 0132"],
  ["compare", "/compare", "Total cost"],
  ["catalog", "/catalog?part=CAT6", "TIA-568"],
  ["api", "/api", "Body"],
  ["settings", "/settings", "API tokens"],
];

for (const theme of ["light", "dark"] as const)
  for (const [width, height] of [
    [1440, 900],
    [1024, 768],
  ] as const)
    test(`every page is accessible, ${theme}, ${width}x${height}`, { tag: theme === "dark" && width === 1440 ? [] : ["@long"] }, async ({ page }, info) => {
      test.setTimeout(120_000);
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: theme });
      for (const [name, path, ready] of PAGES) {
        await page.goto(path);
        await expect(page.getByText(ready).first()).toBeVisible();
        if (path.startsWith("/?")) await drawn(page);
        await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
        await page.waitForTimeout(300);
        await page.screenshot({ path: info.outputPath(`${name}.png`) });
        await accessible(page);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(overflow, `${name} is wider than the window`).toBeLessThanOrEqual(0);
      }
    });

test("the palette and the menus are accessible", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  // Dialogs and menus stand outside the page's landmarks, as the ARIA patterns have them.
  await page.keyboard.press("Control+k");
  await accessible(page, ["region"]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Export" }).click();
  await expect(page.getByRole("dialog", { name: "Export the plan" })).toContainText("Workbook");
  await accessible(page, ["region"]);
});

test("the theme is remembered and set before the first paint", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await page.getByRole("button", { name: "Theme" }).click();
  await page.getByRole("menuitem", { name: "Dark" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload({ waitUntil: "commit" });
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("reduced motion is honoured", { tag: "@long" }, async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await openPlan(page);
  const longest = await page.evaluate(() =>
    Math.max(
      ...[...document.querySelectorAll("*")].map(
        (e) => Number.parseFloat(getComputedStyle(e).transitionDuration) || 0,
      ),
    ),
  );
  expect(longest).toBeLessThanOrEqual(0.001);
});

import type { Page } from "@playwright/test";
import { drawn, expect, openPlan, test } from "./page";

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

const PAGES = ["Compare", "Search", "Experiments", "Runs", "Catalog", "Figures", "Chip", "API"];

/**
 * Elements that extend beyond the right edge of the screen and cannot be scrolled within their own
 * box.
 */
function beyondTheEdge(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const scrolls = (element: Element): boolean => {
      for (let up = element.parentElement; up && up.id !== "main"; up = up.parentElement)
        if (getComputedStyle(up).overflowX !== "visible") return true;
      return false;
    };
    return [...document.querySelectorAll("#main button, #main input, #main select, #main h1, #main h2, #main p")]
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element))
      .map((element) => element.outerHTML.slice(0, 120));
  });
}

test("every page fits a phone, and the menu leads to each", async ({ page }) => {
  await openPlan(page);
  for (const name of ["Plan", ...PAGES]) {
    // A page that scrolls to its top as it appears closes the menu.
    await expect(async () => {
      const entry = page.getByRole("menuitem", { name, exact: true });
      if (!(await entry.isVisible())) await page.getByRole("button", { name: "Pages" }).click({ timeout: 5_000 });
      await entry.click({ timeout: 5_000 });
    }).toPass();
    await expect(page.getByRole("button", { name: "Pages" })).toContainText(name);
    await expect(page.getByRole("heading", { level: 1 })).toBeAttached();
    await expect.poll(() => beyondTheEdge(page), name).toEqual([]);
  }
});

test("on a phone a parameter below the drawing changes the plan", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  const groups = page.getByLabel("Top-level groups");
  await groups.scrollIntoViewIfNeeded();
  await groups.fill("2");
  await drawn(page);
  await expect(page.getByText("1,024 servers in", { exact: false })).toBeVisible();
});

import AxeBuilder from "@axe-core/playwright";
import { guide, pointsAt } from "./guide";
import { drawn, expect, openPlan, test } from "./page";

test("the first minute leads to the real controls, by keyboard too, and is remembered", async ({ page }) => {
  await openPlan(page, '/plans/new?topology={"family":"bcube","n":4,"k":1}');
  await page.keyboard.press("Control+k");
  await page.keyboard.type("first minute");
  await page.keyboard.press("Enter");
  await expect(guide(page).locator("[aria-current='step']")).toHaveText("Plan");
  await pointsAt(page, page.getByRole("region", { name: "Parameters", exact: true }));
  // Nothing is covered: the field that it speaks of can be used.
  await guide(page).getByRole("button", { name: "Show me" }).press("Enter");
  await expect(page.getByLabel("Size")).toBeFocused();
  expect((await new AxeBuilder({ page }).include("section[aria-label='First minute']").analyze()).violations).toEqual([]);

  await guide(page).getByRole("button", { name: "Next" }).press("Enter");
  await expect(guide(page).locator("[aria-current='step']")).toHaveText("Paths");
  await guide(page).getByRole("button", { name: "Show me" }).press("Enter");
  const between = page.getByRole("region", { name: "Paths between two servers" });
  const show = between.getByRole("button", { name: "Show parallel paths" });
  await expect(show).toBeFocused();
  await pointsAt(page, between);
  // Two servers of a BCube with two ports have two paths; without a cable of the one, the other is
  // left.
  await show.click();
  await expect(between.getByTestId("paths").getByRole("listitem")).toHaveCount(2);
  await expect(page).toHaveURL(/sel=cable/);
  const rows = between.getByTestId("paths").getByRole("button", { name: /links?$/ });
  const other = (await rows.nth(1).textContent())!.slice(1); // without its place
  await rows.first().click();
  expect((await new AxeBuilder({ page }).include("section[aria-label='Paths between two servers']").analyze()).violations).toEqual([]);
  await between.getByRole("button", { name: /^Unplug 00\// }).click();
  await expect(between.getByRole("status")).toContainText("1 cable unplugged: one path");
  await expect(between.getByRole("button", { pressed: true })).toContainText(other);

  const predict = page.getByRole("button", { name: "Predict", exact: true });
  await pointsAt(page, predict);
  await guide(page).getByRole("button", { name: "Show me" }).press("Enter");
  await expect(predict).toBeFocused();
  await page.keyboard.press("Enter");
  const form = page.getByRole("form", { name: "New experiment" });
  await expect(form).toBeVisible();
  const run = form.getByRole("button", { name: "Run", exact: true });
  await expect(run).toBeEnabled();
  await pointsAt(page, run);

  // The next visit continues where this one ended.
  await page.reload();
  await expect(guide(page).locator("[aria-current='step']")).toHaveText("Predict");
  await expect(run).toBeEnabled();
  await run.click();
  await expect(guide(page).locator("[aria-current='step']")).toHaveText("Emulate");
  await pointsAt(page, page.getByRole("link", { name: "Plan", exact: true }));
  await page.getByRole("link", { name: "Plan", exact: true }).click();
  await drawn(page);
  await pointsAt(page, page.getByRole("button", { name: "Emulate", exact: true }));

  await guide(page).getByRole("button", { name: "Close the first minute" }).click();
  await expect(guide(page)).toHaveCount(0);
  await page.reload();
  await drawn(page);
  await expect(guide(page)).toHaveCount(0);
});

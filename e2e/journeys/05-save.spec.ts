import { drawn, expect, fill, openPlan, test, total } from "./page";

test("a plan is saved, reopened, revised, looked back at and reverted", async ({ page }) => {
  await openPlan(page);
  await page.getByRole("button", { name: /^Plan:/ }).click();
  await page.getByLabel("Plan name").fill("Yard A");
  await page.getByRole("button", { name: "Rename" }).click();
  await page.keyboard.press("Control+s");
  await expect(page).toHaveURL(/\/plans\/[0-9a-z]+$/);
  await expect(page.getByText("Saved, revision 1")).toBeVisible();
  await expect(page.getByRole("button", { name: "Saved", exact: true })).toBeDisabled();

  await fill(page, "Top-level groups", "2");
  await expect(page.getByText("Edited since revision 1")).toBeVisible();
  await expect(page.getByLabel("Changes against")).toHaveValue("saved");
  await expect(total(page, "servers")).toContainText("−1,024");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved, revision 2")).toBeVisible();

  await page.reload();
  await drawn(page);
  await expect(total(page, "servers")).toHaveText("1,024");
  await expect(page.getByRole("button", { name: /^Plan: Yard A/ })).toBeVisible();

  await page.getByRole("button", { name: /^Revision 2/ }).click();
  await page.getByRole("link", { name: "View" }).click();
  await expect(page).toHaveURL(/revision=1/);
  await expect(total(page, "servers")).toHaveText("2,048");

  await page.getByRole("button", { name: /^Revision 1/ }).click();
  await page.getByRole("button", { name: "Restore revision 1" }).click();
  await expect(page.getByText("Saved, revision 3")).toBeVisible();
  await drawn(page);
  await expect(total(page, "servers")).toContainText("2,048");
});

test("two tabs cannot overwrite each other unknowingly", { tag: "@long" }, async ({ page, context, quiet }) => {
  quiet.expectErrors();
  await openPlan(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved, revision 1")).toBeVisible();
  const other = await context.newPage();
  await openPlan(other, page.url());
  await fill(other, "Top-level groups", "3");
  await other.getByRole("button", { name: "Save", exact: true }).click();
  await expect(other.getByText("Saved, revision 2")).toBeVisible();

  await fill(page, "Top-level groups", "1");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText(/Someone else saved a newer revision/)).toBeVisible();
  await expect(total(page, "servers")).toContainText("512");
});

test("a saved plan can be deleted", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved, revision 1")).toBeVisible();
  const address = page.url();
  page.on("dialog", (dialog) => void dialog.accept());
  await page.getByRole("button", { name: /^Plan:/ }).click();
  await page.getByRole("button", { name: "Delete this plan…" }).click();
  await expect(page).toHaveURL(/\/$/);
  const gone = await page.request.get(address.replace("/plans/", "/api/v1/plans/"));
  expect(gone.status()).toBe(404);
});

test("a plan that is not there says so", { tag: "@long" }, async ({ page, quiet }) => {
  quiet.expectErrors();
  await page.goto("/plans/0a1b2c3d4e5f6g");
  await expect(page.getByRole("alert")).toContainText("This plan cannot be opened");
  await expect(page.getByRole("button", { name: "Try again" })).toBeVisible();
});

test("the bar of a saved plan fits on every width", { tag: "@long" }, async ({ page }) => {
  await openPlan(page, '/plans/new?topology={"family":"bcube","n":4,"k":1}');
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("button", { name: "Saved" })).toBeVisible();
  for (const width of [1600, 1440, 1366, 1280, 1200, 1100, 1024, 900, 820, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), `${width} px wide`)
      .toBeLessThanOrEqual(0);
  }
});

import { colours, drawn, expect, field, fill, openPlan, test, total } from "./page";

test("an impossible size is explained at its field, offers the nearest one, and the old picture stays", async ({
  page,
  quiet,
}) => {
  quiet.expectErrors(); // The browser logs the 422 itself.
  await openPlan(page);
  await fill(page, "Servers", "2000");
  await expect(page.getByText("These parameters give no plan.")).toBeVisible();
  expect(await colours(page)).toBeGreaterThan(6);
  await expect(total(page, "servers")).toHaveText("2,048");
  const fix = page.getByRole("button", { name: /^Fix:/ }).first();
  await fix.click();
  await drawn(page);
  await expect(page.getByText("These parameters give no plan.")).toBeHidden();
  await expect(total(page, "servers")).toContainText(/1,536|2,048/);
});

test("a tray fuller than its limit is found, and the finding goes when the limit is raised", async ({
  page,
}) => {
  await openPlan(page);
  await fill(page, "Tray fill limit", "5");
  await expect(page.getByRole("region", { name: "Checks" }).getByText(/tray/i).first()).toBeVisible();
  await expect(page.getByRole("region", { name: "Checks" })).toContainText(/finding/);
  await field(page, "Tray fill limit").fill("60");
  await drawn(page);
  await expect(page.getByRole("region", { name: "Checks" })).toContainText("All good");
});

test("the wiring certificate opens up to its checks", async ({ page }) => {
  await openPlan(page);
  const checks = page.getByRole("region", { name: "Checks" });
  await checks.getByText("Wiring certificate").click();
  await expect(checks).toContainText("8,192 checked");
  await expect(checks).toContainText("port l of a server to port a_l");
});

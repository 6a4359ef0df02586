import { colours, drawn, expect, field, fill, openPlan, test, total } from "./page";

test("an impossible size is explained at its field, offers the nearest one, and the old picture stays", async ({
  page,
  quiet,
}) => {
  quiet.expectErrors(); // The browser logs the 422 itself.
  await openPlan(page);
  await fill(page, "Servers", "2000");
  await expect(page.getByText("Not valid. Showing your last valid plan.")).toBeVisible();
  expect(await colours(page)).toBeGreaterThan(6);
  await expect(total(page, "servers")).toHaveText("2,048");
  const fix = page.getByRole("button", { name: /^Fix:/ }).first();
  await fix.click();
  await drawn(page);
  await expect(page.getByText("Not valid. Showing your last valid plan.")).toBeHidden();
  await expect(total(page, "servers")).toContainText(/1,536|2,048/);

  const servers = await field(page, "Servers").inputValue();
  await fill(page, "Servers", "2001");
  await fill(page, "Servers", "2002");
  await page.getByRole("button", { name: "Back to the valid plan" }).click();
  await expect(field(page, "Servers")).toHaveValue(servers);
  await expect(page.getByText("Not valid. Showing your last valid plan.")).toBeHidden();
});

test("a tray fuller than its limit is found, and the finding goes when the limit is raised", { tag: "@long" }, async ({
  page,
}) => {
  await openPlan(page);
  await fill(page, "Tray fill limit", "5");
  await expect(page.getByRole("region", { name: "Checks" }).getByText(/tray/i).first()).toBeVisible();
  await expect(page.getByRole("region", { name: "Checks" })).toContainText(/finding/);
  await field(page, "Tray fill limit").fill("60");
  await drawn(page);
  await expect(page.getByRole("region", { name: "Checks" }).getByText(/tray segments/)).toHaveCount(0);
});

test("a container that draws more than its usual feed says so, is repaired or accepted, and stays accepted", { tag: "@long" }, async ({
  page,
}) => {
  await openPlan(page);
  const checks = page.getByRole("region", { name: "Checks" });
  await expect(checks).toContainText("Container 1 draws 487.4 kW; the usual limit (assumed) is 400.0 kW.");
  await expect(checks.getByRole("button", { name: "Fix: containers 2" }).first()).toBeVisible();
  await checks.getByRole("button", { name: "Accept 488.0 kW" }).first().click();
  await drawn(page);
  await expect(checks).toContainText("Accepted by the plan: power feed limit 488.0 kW (catalog: 400.0 kW)");
  await expect(checks.getByText("Container 1 draws 487.4 kW; the")).toHaveCount(0);
});

test("the longest cable stands beside its limit, and a click selects it", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  const checks = page.getByRole("region", { name: "Checks" });
  await expect(checks).toContainText(/routed, .* ordered, limit 100.* m/);
  await checks.getByRole("button", { name: /routed/ }).click();
  await expect(page).toHaveURL(/cable/);
});

test("the wiring certificate opens up to its checks", async ({ page }) => {
  await openPlan(page);
  const checks = page.getByRole("region", { name: "Checks" });
  await checks.getByText("Wiring certificate").click();
  await expect(checks).toContainText("8,192 checked");
  await expect(checks).toContainText("port l of a server to port a_l");
});

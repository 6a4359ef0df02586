import { fileURLToPath } from "node:url";
import { drawn, expect, openPlan, test, total } from "../journeys/page";

// Each test follows the steps of its tutorial in docs/tutorials.
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const SMALL = '/plans/new?topology={"family":"bcube","n":4,"k":1}';

test.use({ viewport: { width: 1040, height: 640 } });

test("your first plan", async ({ page }) => {
  await openPlan(page);
  await page.getByLabel("Size").selectOption({ label: "The paper's testbed, 16 servers" });
  await expect(total(page, "servers")).toContainText("16");
  await drawn(page);
  await page.mouse.move(0, 0);
  await page.screenshot({ path: file("first-plan.png") });
});

test("predict a failure", async ({ page }) => {
  await openPlan(page, SMALL);
  await page.getByTitle("Predict throughput").click();
  const form = page.getByRole("form", { name: "New experiment" });
  await form.getByLabel("switches").check();
  await form.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page.getByRole("img", { name: /throughput|ABT/i }).first()).toBeVisible({ timeout: 60_000 });
  await page.screenshot({ path: file("predict-a-failure.png") });
});

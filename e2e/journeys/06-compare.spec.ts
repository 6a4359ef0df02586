import { accessible, drawn, expect, openPlan, test } from "./page";

test("the families at equal size stand beside each other, with deltas against a base that can change", async ({
  page,
}) => {
  await page.goto("/compare");
  const table = page.getByRole("table");
  const servers = table.getByRole("row", { name: /^Servers/ }).first();
  await expect(servers.getByRole("cell")).toHaveText(["2,048", "2,048", "2,048", "2,048"]);
  const switches = table.getByRole("row", { name: /^Switches 1,280/ });
  await expect(switches).toContainText("256");
  await expect(switches).toContainText("2,304");
  await expect(switches).toContainText("+1,024 (+80");
  await expect(switches).toContainText("44");
  await accessible(page);

  await table
    .getByRole("columnheader")
    .filter({ hasText: "Two-level tree" })
    .getByRole("button", { name: "Make base" })
    .click();
  await expect(page).toHaveURL(/base=3/);
  await expect(table.getByRole("row", { name: /^Switches 1,280/ })).toContainText("+1,236");

  await page.getByRole("button", { name: "Remove Partial DCell(8,2)" }).click();
  await expect(table.getByRole("columnheader").filter({ hasText: "DCell" })).toHaveCount(0);
  await page.getByRole("button", { name: "Add a plan" }).click();
  await page.getByRole("menuitem", { name: /CamCube/ }).click();
  await expect(table.getByRole("columnheader").filter({ hasText: "CamCube" })).toBeVisible();
  await page.reload();
  await expect(table.getByRole("columnheader").filter({ hasText: "CamCube" })).toBeVisible();

  await page.getByRole("radio", { name: "Charts" }).click();
  const cost = page.getByRole("figure", { name: "Cost: Total cost" });
  await expect(cost).toContainText("modelled");
  const download = page.waitForEvent("download");
  await cost.getByRole("button", { name: /as CSV/ }).click();
  expect((await download).suggestedFilename()).toMatch(/\.csv$/);
  await accessible(page);
});

test("a plan is compared from its own page, and two saved plans make a work order", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run a command" }).fill("compare this");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/compare\?plans=z\./);
  await expect(page.getByRole("table").getByRole("columnheader").filter({ hasText: "BCube" })).toBeVisible();

  // [bcube §5.1]: growing from 2 groups to 4 only adds cables; none of the old ones is moved.
  const make = async (servers: number) => {
    const answer = await page.request.post("/api/v1/plans", {
      data: { name: `BCube of ${servers}`, spec: { topology: { family: "bcube", n: 4, k: 2, servers } } },
    });
    expect(answer.status()).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  };
  const [small, large] = [await make(32), await make(64)];
  await page.goto(`/compare?plans=${small},${large}`);
  await page.getByRole("button", { name: "Migration work order" }).click();
  const order = page.getByRole("dialog", { name: /Migration work order/ });
  await expect(order.getByRole("tab", { name: /Add/ })).toContainText("96");
  await expect(order.getByRole("tab", { name: /Remove/ })).toContainText("0");
  await order.getByRole("tab", { name: /Add/ }).click();
  await expect(order.getByRole("grid")).toHaveAttribute("aria-rowcount", "97");
  await accessible(page);
});

test("an unsaved plan is saved from the comparison when a work order is wanted", { tag: "@long" }, async ({ page }) => {
  await page.goto("/compare?plans=ex.bcube,ex.tree");
  await page.getByRole("button", { name: "Migration work order" }).click();
  await page.getByRole("button", { name: /Save .* and show the work order/ }).click();
  await expect(page.getByRole("dialog").getByRole("tab", { name: /Add/ })).toContainText(/\d/);
  await expect(page).not.toHaveURL(/ex\.bcube/);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Partial BCube(8,3)" }).click();
  await drawn(page);
});

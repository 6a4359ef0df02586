import { colours, drawn, expect, field, fill, openPlan, test, total } from "./page";

test("a change replans in place with signed deltas, and undo and redo walk back and forth", async ({
  page,
}) => {
  await openPlan(page);
  await fill(page, "Top-level groups", "2");
  await expect(total(page, "servers")).toHaveText(/−1,024\s*1,024/);
  await expect(total(page, "cables")).toContainText("−4,096");
  await expect(total(page, "cost")).toContainText("−$");
  await expect(total(page, "cost")).toContainText("better");
  await expect(total(page, "bisection")).toContainText("worse");

  await page.keyboard.press("Control+z");
  await expect(total(page, "servers")).toHaveText("2,048");
  await page.keyboard.press("Control+Shift+z");
  await expect(total(page, "servers")).toContainText("1,024");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(total(page, "servers")).toHaveText("2,048");
  await expect(field(page, "Top-level groups")).toHaveValue("4");
});

test("a change says what it brought with it, and the number of servers can be kept", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await fill(page, "Switch ports", "4");
  const note = page.getByText(/^This change also made:/);
  await expect(note).toHaveText("This change also made: servers 2,048 → 128.");
  await page.getByRole("button", { name: "Keep 2,048 servers" }).click();
  await expect(total(page, "servers")).toContainText("2,048");
  await expect(field(page, "Switch ports")).toHaveValue("4");
  await expect(field(page, "Levels above level 0")).toHaveValue("5");
  await page.getByRole("button", { name: "Undo" }).first().click();
  await expect(total(page, "servers")).toContainText("128");
  await fill(page, "Switch ports", "16");
  await expect(note).toContainText("enclosure 40 ft container → open rows");
});

test("n, k, container, slack and price book all replan", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await fill(page, "Levels above level 0", "2");
  await expect(total(page, "servers")).toContainText("256");
  await fill(page, "Switch ports", "4");
  await expect(total(page, "servers")).toContainText("32");
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+z");
  await expect(total(page, "servers")).toHaveText("2,048");

  const length = await total(page, "cable-length").innerText();
  await fill(page, "Slack", "3");
  await expect(total(page, "cable-length")).not.toHaveText(length);
  await field(page, "Enclosure").selectOption({ label: "Open rows" });
  await drawn(page);
  const cost = await total(page, "cost").innerText();
  await field(page, "Price book").selectOption("paper-2009");
  await expect(total(page, "cost")).not.toHaveText(cost);
  // The papers do not list all prices, which the total must show.
  await expect(total(page, "cost")).toContainText("≥");
});

test("the old picture stays while the new plan is computed, and only the newest answer counts", { tag: "@long" }, async ({
  page,
}) => {
  await openPlan(page);
  // Every answer waits until the test lets it go.
  let release = () => {};
  const released = new Promise<void>((done) => {
    release = done;
  });
  await page.route("**/plans/preview", async (route) => {
    await released;
    await route.continue().catch(() => {});
  });
  const aborted: string[] = [];
  page.on("requestfailed", (request) => aborted.push(request.failure()?.errorText ?? ""));
  await fill(page, "Top-level groups", "2");
  await expect(page.getByTestId("ready")).toHaveText("Planning…");
  expect(await colours(page)).toBeGreaterThan(6);
  await expect(total(page, "servers")).toHaveText("2,048");
  await fill(page, "Top-level groups", "1");
  await expect.poll(() => aborted.length).toBeGreaterThan(0);
  release();
  await expect(total(page, "servers")).toContainText("512");
  await drawn(page);
  await expect(total(page, "servers")).toContainText("512");
});

test("unsaved edits survive a reload", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await fill(page, "Top-level groups", "3");
  await expect(page).toHaveURL(/\/plans\/new\?.*spec=1/);
  await page.reload();
  await drawn(page);
  await expect(field(page, "Top-level groups")).toHaveValue("3");
  await expect(total(page, "servers")).toContainText("1,536");
});

test("another family keeps what was set up for the first", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await fill(page, "Top-level groups", "2");
  await page.getByRole("radio", { name: "CamCube" }).click();
  await expect(total(page, "switches")).toContainText("0");
  await page.getByRole("radio", { name: "BCube" }).click();
  await expect(field(page, "Top-level groups")).toHaveValue("2");
});

import { drawn, expect, field, openPlan, test, total } from "./page";

test("a whole visit without a mouse", async ({ page }) => {
  await openPlan(page);
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();

  // A parameter: the arrow keys step.
  await field(page, "Top-level groups").focus();
  await page.keyboard.press("ArrowDown");
  await expect(total(page, "servers")).toContainText("1,536");
  await page.keyboard.press("Control+z");
  await expect(total(page, "servers")).toHaveText("2,048");

  // The family: one tab stop, arrows choose.
  await page.getByRole("radio", { name: "BCube" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("radio", { name: "DCell" })).toBeChecked();
  await page.keyboard.press("ArrowLeft");
  await expect(page.getByRole("radio", { name: "BCube" })).toBeChecked();
  await drawn(page);

  // Number keys choose the view; Tab and arrow keys choose the table.
  await page.locator("#main").focus();
  await page.keyboard.press("3");
  await expect(page.getByRole("tab", { name: "Matrix" })).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("1");
  await page.getByRole("tab", { name: /^Cables/ }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("tab", { name: /^BOM/ })).toBeFocused();

  // The drawing itself.
  await page.getByTestId("plan-canvas").locator("[tabindex='0']").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");

  // The longest cable, and pinning what is selected.
  await page.locator("#main").focus();
  await page.keyboard.press("l");
  const inspector = page.getByRole("complementary", { name: "Totals and selection" });
  await expect(inspector).toContainText(/Selection · C\d{5}/);
  await inspector.getByRole("button", { name: /R00-44C/ }).press("Enter");
  await expect(inspector.getByRole("button", { name: "Move and pin" })).toBeVisible();
  await page.locator("#main").focus();
  await page.keyboard.press("p");
  await expect(inspector.getByRole("button", { name: "Pin", exact: true })).toBeVisible();

  // Help and palette open, trap focus and give it back.
  await page.locator("#main").focus();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keyboard shortcuts" })).toContainText("Undo");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("theme dark");
  await page.keyboard.press("Enter");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("the height of the tables is set by keyboard", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  const splitter = page.getByRole("separator", { name: "Height of the tables" });
  const before = Number(await splitter.getAttribute("aria-valuenow"));
  await splitter.focus();
  await page.keyboard.press("PageUp");
  expect(Number(await splitter.getAttribute("aria-valuenow"))).toBeGreaterThan(before);
});

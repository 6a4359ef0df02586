import { drawn, expect, field, fill, openPlan, test, total } from "./page";

test("a shared link opens the same plan in the same view, without a database", { tag: "@long" }, async ({
  page,
  browser,
  baseURL,
}) => {
  await openPlan(page, "/?view=matrix&tab=bom&color=weight");
  await fill(page, "Top-level groups", "2");
  await drawn(page);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByText(/Link to this view copied/)).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link.startsWith(`${baseURL}/plans/new?`)).toBe(true);

  const elsewhere = await (await browser.newContext()).newPage();
  await openPlan(elsewhere, link);
  await expect(field(elsewhere, "Top-level groups")).toHaveValue("2");
  await expect(total(elsewhere, "servers")).toHaveText("1,024");
  await expect(elsewhere.getByRole("tab", { name: "Matrix" })).toHaveAttribute("aria-selected", "true");
  await expect(elsewhere.getByRole("tab", { name: /^BOM/ })).toHaveAttribute("aria-selected", "true");
  await elsewhere.context().close();
});

test("a topology written out in the address is planned", { tag: "@long" }, async ({ page }) => {
  const topology = JSON.stringify({ family: "torus3d", x: 4, y: 4, z: 4 });
  await openPlan(page, `/plans/new?topology=${encodeURIComponent(topology)}`);
  await expect(total(page, "servers")).toHaveText("64");
  await expect(page.getByRole("radio", { name: "CamCube" })).toBeChecked();
});

test("a damaged link says so", { tag: "@long" }, async ({ page }) => {
  await page.goto("/plans/new?spec=1notaplan");
  await expect(page.getByRole("alert")).toContainText("damaged");
});

test("every screen gives its call as a curl line that a shell can run", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await page.getByRole("button", { name: "API calls for this page" }).click();
  await page
    .getByRole("dialog", { name: "API calls for this page" })
    .getByRole("button", { name: "Copy as curl" })
    .first()
    .click();
  const line = await page.evaluate(() => navigator.clipboard.readText());
  expect(line).toContain("/api/v1/plans/preview");
  const body = JSON.parse(line.match(/-d '(.*)'$/s)![1]!) as { spec: object };
  const answer = await page.request.post("/api/v1/plans/preview", { data: body });
  expect(answer.status()).toBe(200);
});

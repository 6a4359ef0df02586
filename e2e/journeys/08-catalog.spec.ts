import { accessible, drawn, expect, field, grid, openPlan, test } from "./page";

test("every value has a source, and a correction makes a new version that saved plans do not take by themselves", async ({
  page,
}) => {
  // A unique name, since the server may have been tested before.
  const title = `Our prices ${Date.now().toString(36)}`;
  const book = title.toLowerCase().replaceAll(" ", "-");
  await page.goto("/catalog?book=paper-2009");
  await expect(grid(page)).toContainText("DGS-1008D");
  await grid(page).getByRole("row").filter({ hasText: "DGS-1008D" }).click();
  const part = page.getByRole("complementary", { name: "Part" });
  await expect(part).toContainText("[bcube §8]");
  await expect(part).toContainText("published");
  await accessible(page);

  // A book of one's own, so that the papers' stays what it is.
  await page.getByRole("button", { name: "Copy as a new book" }).click();
  await page.getByLabel("Title").fill(title);
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`book=${book}`));

  await openPlan(page);
  await field(page, "Price book").selectOption(book);
  await drawn(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved, revision 1")).toBeVisible();
  const address = page.url();

  await page.goto(`/catalog?book=${book}&part=DGS-1008D`);
  await part.getByRole("button", { name: "Edit" }).click();
  await part.getByLabel("Price", { exact: false }).first().fill("45");
  await expect(part.getByRole("button", { name: "Save as version 2" })).toBeDisabled();
  await part.getByLabel("Source", { exact: true }).fill("Quotation 17");
  await part.getByRole("button", { name: "Save as version 2" }).click();
  await expect(part).toContainText("$45.00");
  await expect(part).toContainText("Quotation 17");
  await expect(page.getByRole("button", { name: /Version 2 · latest/ })).toBeVisible();

  await openPlan(page, address);
  await expect(page.getByText("Keeps the prices of version 1; version 2 is out.")).toBeVisible();
  const cost = page.locator('[data-total="cost"]');
  await page.getByRole("button", { name: "Use version 2" }).click();
  // 1,280 switches at five dollars more.
  await expect(cost).toContainText("+$6,400");
});

test("a book in euros makes plans in euros, which are compared with others at a stated rate only", { tag: "@long" }, async ({ page }) => {
  const title = `Euros ${Date.now().toString(36)}`;
  const book = title.toLowerCase().replaceAll(" ", "-");
  await page.goto("/catalog?book=current-2026");
  await page.getByRole("button", { name: "Copy as a new book" }).click();
  await page.getByLabel("Title").fill(title);
  await page.getByLabel("Currency (ISO 4217)").fill("eur");
  await expect(page.getByRole("button", { name: "Copy", exact: true })).toBeDisabled();
  await page.getByLabel("1 USD in EUR").fill("0.5");
  await page.getByRole("button", { name: "Copy", exact: true }).click();
  await expect(page).toHaveURL(new RegExp(`book=${book}`));
  await expect(grid(page)).toContainText("€");

  const topology = { family: "bcube", n: 4, k: 1 };
  const make = async (name: string, catalog: string) => {
    const answer = await page.request.post("/api/v1/plans", { data: { name, spec: { topology, catalog } } });
    expect(answer.status()).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  };
  const [dollars, euros] = [await make("In dollars", "current-2026"), await make("In euros", book)];
  await openPlan(page, `/plans/${euros}`);
  await expect(page.locator('[data-total="cost"]')).toContainText("€");

  await page.goto(`/compare?plans=${dollars},${euros}`);
  const cost = page.getByRole("row", { name: /^Total cost/ });
  await expect(cost).toContainText("no rate");
  await accessible(page);
  await page.getByLabel("1 EUR =").fill("2");
  await expect(cost).toContainText("converted");
  await expect(cost.getByRole("cell").nth(1)).toContainText("$");
  await expect(page).toHaveURL(/rates=EUR%3D2/);
});

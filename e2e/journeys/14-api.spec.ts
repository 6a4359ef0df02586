import { accessible, expect, test } from "./page";

test("every call can be looked up and made from the page", async ({ page }) => {
  await page.goto("/api");
  await page.getByRole("searchbox", { name: "Filter calls" }).fill("preview");
  await page.getByRole("link", { name: /POST.*\/plans\/preview/ }).click();
  await page.getByRole("button", { name: "Send" }).click();
  const answer = page.getByRole("region", { name: "Response" });
  await expect(answer).toContainText("200");
  await expect(answer).toContainText('"plan_hash"');
  await accessible(page);

  await page.getByLabel("JSON").fill("{");
  await expect(page.getByRole("button", { name: "Send" })).toBeDisabled();
});

test("a path parameter must be given before a call is made", { tag: "@long" }, async ({ page, quiet }) => {
  quiet.expectErrors();
  await page.goto("/api");
  await page.getByRole("searchbox", { name: "Filter calls" }).fill("/plans/{id}/bom");
  await page.getByRole("link", { name: /bom/ }).click();
  await expect(page.getByRole("button", { name: "Send" })).toBeDisabled();
  await page.getByLabel(/^id ·/).fill("nothing-of-that-name");
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("region", { name: "Response" })).toContainText(/4\d\d/);
});

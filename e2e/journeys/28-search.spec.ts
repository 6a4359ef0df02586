import { accessible, expect, test } from "./page";

test("plans are searched, mistakes are named at their row, and a point opens its plan", async ({
  page,
  quiet,
}) => {
  await page.goto("/search");
  const form = page.getByRole("form", { name: "Question" });
  // Before the first search the page shows one that comes with the program.
  await expect(page.getByText(/^Example that comes with the program/)).toBeVisible();
  await expect(page.getByRole("region", { name: "Plans on the front" }).getByRole("button").first()).toBeVisible();
  // Invalid numbers disable the search.
  const share = form.getByLabel("Failure rate");
  await share.fill("ten");
  await expect(form.getByRole("button", { name: "Search", exact: true })).toBeDisabled();
  await share.fill("10");
  await form.getByRole("textbox", { name: "Servers: value" }).fill("64");
  await form.getByRole("textbox", { name: "ABT after failures: value" }).fill("10 Gb/s");
  for (const family of ["Subways", "Leaf-spine", "CamCube torus", "DCell"])
    await form.getByLabel(family).uncheck();
  await form.getByRole("button", { name: "Search", exact: true }).click();
  const result = page.getByRole("region", { name: "Result" });
  await expect(result.getByRole("status")).toContainText("on the front.", { timeout: 60_000 });
  await accessible(page);

  const first = page.getByRole("region", { name: "Plans on the front" }).getByRole("button").first();
  const title = await first.textContent();
  await first.click();
  await expect(page).toHaveURL(/\/plans\/new\?spec=/);
  await expect(page.getByText(title!, { exact: false }).first()).toBeVisible();

  quiet.expectErrors();
  await page.goto("/search");
  await form.getByRole("textbox", { name: "Power: value" }).fill("1 Tb/s");
  await form.getByRole("button", { name: "Search", exact: true }).click();
  await expect(form.getByText("Give a number, or text with a unit: W, kW, MW.")).toBeVisible();
});

import { accessible, expect, test } from "./page";

test("a plan's life is simulated from the plan, and a mistake is named at its field", async ({
  page,
  quiet,
}) => {
  await page.goto("/");
  const failures = page.getByRole("button", { name: "Failures over five years" });
  await failures.scrollIntoViewIfNeeded();
  await failures.click();
  await expect(page).toHaveURL(/\/life\?plan=z\./);
  await expect(page.getByText(/^Example that comes with the program/)).toBeVisible();
  await expect(page.getByRole("region", { name: "What repairs buy" })).toBeVisible();
  // The papers' container takes half a minute: a small plan shows the same.
  const spec = await page.request.post("/api/v1/plans", {
    data: { name: "small", spec: { topology: { family: "bcube", n: 4, k: 1 } } },
  });
  await page.goto(`/life?plan=${(await spec.json()).id}`);
  const form = page.getByRole("form", { name: "Question" });
  await form.getByText("Visits with this spares kit").click();
  await form.getByText("Each part and its source").click();
  await expect(form.getByText(/Backblaze/)).toBeVisible();
  await form.getByLabel("Disk", { exact: true }).fill("20");
  await form.getByRole("button", { name: "Simulate" }).click();
  const result = page.getByRole("region", { name: "Result" });
  await expect(result.getByRole("status").first()).toContainText("200 lives of 16 servers");
  const table = page.getByRole("region", { name: "What repairs buy" });
  await expect(table.getByRole("columnheader", { name: "Visit every 6 months", exact: true })).toBeVisible();
  await expect(
    page.getByRole("region", { name: "Failure rates used" }).getByText("set in the request"),
  ).toBeVisible();
  await accessible(page);

  quiet.expectErrors();
  await form.getByLabel("A visit every").fill("0");
  await form.getByRole("button", { name: "Simulate" }).click();
  await expect(form.getByText(/must be at least 0.5/)).toBeVisible();
});

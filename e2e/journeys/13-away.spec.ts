import { colours, drawn, expect, fill, openPlan, test, total } from "./page";

test("when the server is away the page says so, keeps the picture and comes back by itself", async ({
  page,
  quiet,
}) => {
  quiet.expectErrors();
  await openPlan(page);
  await page.route("**/api/v1/**", (route) => route.abort());
  await page.route("**/healthz", (route) => route.abort());
  await fill(page, "Top-level groups", "2");
  await expect(page.getByText("Not connected. Data may be out of date.")).toBeVisible();
  expect(await colours(page)).toBeGreaterThan(6);
  await expect(total(page, "servers")).toHaveText("2,048");

  await page.unrouteAll();
  await expect(page.getByText("Connected", { exact: true })).toBeVisible({ timeout: 10_000 });
  await expect(total(page, "servers")).toContainText("1,024");
  await drawn(page);
});

test("a first visit without a server offers to try again", { tag: "@long" }, async ({ page, quiet }) => {
  quiet.expectErrors();
  // The server returns once the button is pressed. The page also retries by itself from time to
  // time, which is not tested here.
  const pressed = () => page.evaluate(() => document.documentElement.dataset.pressed === "yes");
  await page.route("**/api/v1/**", async (route) => ((await pressed()) ? route.continue() : route.abort()));
  await page.goto("/");
  await expect(page.getByRole("alert").filter({ hasText: "Cubeyard does not answer" }).first()).toBeVisible({
    timeout: 20_000,
  });
  await page.evaluate(() =>
    document.addEventListener("click", () => (document.documentElement.dataset.pressed = "yes"), true),
  );
  await page.getByRole("button", { name: "Try again" }).last().click();
  await drawn(page);
  // Requests for the failure curves may still pass through the route above.
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

import { request } from "@playwright/test";
import { accessible, expect, openPlan, test } from "./page";
import { startServer } from "./server";

test("a token is created, shown once, works and is revoked", async ({ page, server }) => {
  await openPlan(page);
  await page.getByRole("button", { name: "Theme and settings" }).click();
  await page.getByRole("menuitem", { name: "API tokens and session" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Settings" })).toBeVisible();
  await expect(page.getByText("It needs no login.", { exact: false })).toBeVisible();
  const create = page.getByRole("button", { name: "Create token" });
  await expect(create).toBeDisabled();
  await page.getByLabel("Name of the new token").fill("night shift");
  await page.getByLabel("Read only").check();
  await page.getByLabel("Expiry of the new token").selectOption("Expires in 7 days");
  await create.click();
  const secret = (await page.getByTestId("new-token").textContent()) ?? "";
  expect(secret).toMatch(/^cby_.{40,}/);
  await accessible(page);
  const program = await request.newContext({
    baseURL: server.url,
    extraHTTPHeaders: { authorization: `Bearer ${secret}` },
  });
  expect((await program.get("/api/v1/plans")).status()).toBe(200);
  expect((await program.post("/api/v1/plans", { data: {} })).status(), "it may only read").toBe(403);

  await page.reload();
  const row = page.getByRole("listitem").filter({ hasText: "night shift" });
  await expect(row).toContainText("last used");
  await expect(row).toContainText("read only, expires");
  await expect(page.getByText(secret)).toHaveCount(0);
  page.on("dialog", (dialog) => void dialog.accept());
  await row.getByRole("button", { name: "Revoke night shift" }).click();
  await expect(row).toHaveCount(0);
  expect((await program.get("/api/v1/plans")).status()).toBe(401);
  await program.dispose();
});

test("a browser on another address logs in with a token and logs out", { tag: "@long" }, async ({ browser }) => {
  test.skip(process.env["CUBEYARD_E2E_URL"] !== undefined, "starts a server that asks for a token");
  const token = "a-token-from-the-configuration";
  const exposed = await startServer("exposed", { CUBEYARD_HOST: "0.0.0.0", CUBEYARD_TOKEN: token });
  const context = await browser.newContext({ baseURL: exposed.url.replace("0.0.0.0", "127.0.0.1") });
  try {
    const page = await context.newPage();
    await page.goto("/settings");
    await expect(page).toHaveURL(/\/login\?next=%2Fsettings$/);
    await page.getByLabel("API token").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await expect(page.getByRole("alert")).toContainText("not valid");
    await accessible(page);
    await page.getByLabel("API token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
    await expect(page).toHaveURL(/\/settings$/);
    await expect(page.getByText("Logged in with the token from the server’s configuration.")).toBeVisible();
    await page.getByRole("button", { name: "Log out" }).click();
    await expect(page).toHaveURL(/\/login$/);
    expect((await page.request.get("/api/v1/plans")).status()).toBe(401);
  } finally {
    await context.close();
    await exposed.stop();
  }
});

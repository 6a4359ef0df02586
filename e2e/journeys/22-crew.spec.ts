import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { accessible, drawn, expect, openPlan, test } from "./page";

test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

const SPEC = { family: "bcube", n: 4, k: 3 };

async function savedPlan(page: Page, name: string): Promise<string> {
  const answer = await page.request.post("/api/v1/plans", { data: { name, spec: { topology: SPEC } } });
  expect(answer.status()).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

const state = (page: Page) => page.getByTestId("cable-state");
const shown = (page: Page) => page.getByRole("heading", { level: 2 });

interface Marks {
  items: { cable: number; state: string; note: string }[];
}

async function marks(page: Page, plan: string): Promise<Marks["items"]> {
  const answer = await page.request.get(`/api/v1/plans/${plan}/revisions/1/work/marks`);
  return ((await answer.json()) as Marks).items;
}

test("crew mode wants a saved plan, and is reached from the plan's menu and the palette", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  await page.getByRole("button", { name: /^Plan:/ }).click();
  await page.getByRole("button", { name: "Crew mode" }).click();
  await expect(page.getByText("Save the plan first")).toBeVisible();
  await page.getByRole("link", { name: "Back to the plan" }).click();
  await drawn(page);

  const plan = await savedPlan(page, "Yard C");
  await openPlan(page, `/plans/${plan}`);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("crew mode");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/plans/${plan}/crew\\?revision=1$`));
  await expect(page.getByRole("heading", { name: "Crew: Yard C" })).toBeVisible();
  await expect(page.getByText("0 of 1,024 done")).toBeVisible();
  await accessible(page);
});

test("a rack's cables are ticked off one by one, problems are noted, and the lead sees both", async ({ page }) => {
  const plan = await savedPlan(page, "Yard D");
  await page.goto(`/plans/${plan}/crew`);
  const rack = page.getByRole("listitem").getByRole("link").first();
  await rack.click();
  await expect(state(page)).toHaveText("Open");
  for (const end of ["This end", /^Other end/])
    await expect(page.getByRole("region", { name: end }).getByRole("img", { name: /^QR code of the label R/ })).toBeVisible();
  await accessible(page);

  const first = await shown(page).textContent();
  await page.getByRole("button", { name: "Done" }).click();
  await expect(shown(page)).not.toHaveText(first!);
  await expect(page.getByText(/^1 of [\d,]+ done$/)).toBeVisible();

  await page.getByRole("button", { name: "Problem" }).click();
  await expect(page.getByRole("button", { name: "Save problem" })).toBeDisabled();
  await page.getByRole("button", { name: "Port taken" }).click();
  await page.getByRole("button", { name: "Save problem" }).click();
  await expect(page.getByText(/^1 of [\d,]+ done, 1 problem$/)).toBeVisible();

  await page.keyboard.press("d");
  await expect(page.getByText(/^2 of [\d,]+ done, 1 problem$/)).toBeVisible();
  await page.keyboard.press("ArrowLeft");
  await expect(state(page)).toHaveText("Done");
  await page.keyboard.press("o");
  await expect(state(page)).toHaveText("Open");
  await page.keyboard.press("ArrowLeft");
  await expect(state(page)).toHaveText("Problem");
  await expect(page.getByText("Port taken")).toBeVisible();
  await expect
    .poll(async () => (await marks(page, plan)).map((mark) => [mark.state, mark.note]).sort())
    .toEqual([
      ["done", ""],
      ["exception", "Port taken"],
    ]);

  await page.reload();
  await expect(state(page)).toHaveText("Problem");
  await page.getByRole("link", { name: "All racks" }).click();
  await expect(page.getByText("1 of 1,024 done, 1 problem")).toBeVisible();
  await expect(page.getByText("Port taken")).toBeVisible();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const lines = (await readFile(await (await download).path(), "utf8")).trim().split("\r\n");
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/^C\d{5},R\d+,R\S+,R\S+,Port taken,,/);
});

test("what is ticked off without a connection waits, outlives a reload and is sent again", { tag: "@long" }, async ({ page, context, quiet }) => {
  quiet.expectErrors();
  const plan = await savedPlan(page, "Yard E");
  await page.goto(`/plans/${plan}/crew?revision=1&rack=R00`);
  await expect(state(page)).toHaveText("Open");
  await page.route("**/work/marks", (route) => (route.request().method() === "PUT" ? route.abort() : route.continue()));
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByText("2 changes waiting.", { exact: false })).toBeVisible();
  await expect(page.getByText(/^2 of [\d,]+ done$/)).toBeVisible();
  expect(await marks(page, plan)).toEqual([]);

  await page.reload();
  await expect(page.getByText("2 changes waiting.", { exact: false })).toBeVisible();
  await page.unroute("**/work/marks");
  await expect(page.getByText("waiting.", { exact: false })).toHaveCount(0);
  expect((await marks(page, plan)).map((mark) => mark.state)).toEqual(["done", "done"]);

  const other = await context.newPage();
  await other.goto(`/plans/${plan}/crew`);
  await expect(other.getByText("2 of 1,024 done")).toBeVisible();
});

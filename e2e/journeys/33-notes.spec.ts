import type { Page } from "@playwright/test";
import { accessible, drawn, expect, openPlan, test } from "./page";

const SMALL = { family: "bcube", n: 4, k: 1 };

async function savedPlan(page: Page, name: string, topology: object = SMALL): Promise<string> {
  const answer = await page.request.post("/api/v1/plans", { data: { name, spec: { topology } } });
  expect(answer.status()).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

async function revise(page: Page, plan: string, base: number, topology: object): Promise<void> {
  const data = { spec: { topology }, base_revision: base };
  expect((await page.request.patch(`/api/v1/plans/${plan}`, { data })).status()).toBe(200);
}

async function pinned(page: Page, plan: string, kind: string, name: string, text: string): Promise<void> {
  const answer = await page.request.post(`/api/v1/plans/${plan}/notes`, { data: { anchor: { kind, name }, text } });
  expect(answer.status()).toBe(201);
}

const list = (page: Page) => page.getByRole("region", { name: "Notes", exact: true });
const notes = (page: Page) => list(page).getByTestId("note");

test("a note is written by keyboard, edited, resolved and deleted, and the change log says by whom", async ({ page }) => {
  const plan = await savedPlan(page, "Yard N");
  await openPlan(page, `/plans/${plan}?sel=rack:R00`);
  await expect(list(page)).toContainText("No notes yet");
  await page.getByRole("button", { name: "Add note" }).waitFor();
  await page.keyboard.press("n");
  const text = page.getByRole("textbox", { name: "Note on R00" });
  await expect(text).toBeFocused();
  await page.keyboard.type("Door is stuck");
  await page.keyboard.press("Control+Enter");
  const inspector = page.getByRole("region", { name: "Notes on R00" });
  await expect(inspector.getByText("Door is stuck")).toBeVisible();
  await expect(notes(page)).toHaveCount(1);
  await expect(notes(page)).toContainText("this machine");

  await notes(page).getByRole("button", { name: "Edit the note on R00" }).click();
  await text.fill("Door is stuck: call facilities");
  await list(page).getByRole("button", { name: "Save" }).click();
  await expect(inspector.getByText("Door is stuck: call facilities")).toBeVisible();
  await expect(notes(page)).toContainText("Edited by this machine");
  await accessible(page);

  await notes(page).getByRole("button", { name: "Resolve the note on R00" }).click();
  await expect(list(page)).toContainText("0 open notes, 1 resolved");
  await expect(notes(page)).toHaveCount(0);
  await list(page).getByRole("button", { name: "Show 1 resolved" }).click();
  await expect(notes(page)).toContainText("Resolved by this machine");
  await notes(page).getByRole("button", { name: "Reopen the note on R00" }).click();
  page.on("dialog", (dialog) => void dialog.accept());
  await inspector.getByRole("button", { name: "Delete the note on R00" }).click();
  await expect(list(page)).toContainText("No notes yet");

  await page.getByRole("button", { name: "Revision 1: history" }).click();
  await page.getByRole("link", { name: "Who changed this plan and when" }).click();
  const rows = page.getByTestId("change");
  await expect(rows).toHaveCount(6);
  await expect(rows.first()).toContainText("Note deleted");
  await expect(rows.last()).toContainText("Plan created");
  await expect(page.getByText("facilities")).toHaveCount(0);
  await accessible(page);
  await page.getByLabel("Kind").selectOption("plan");
  await expect(rows).toHaveCount(1);
});

test("a note leads to its cable in another revision, and says when that is not there", { tag: "@long" }, async ({ page }) => {
  const plan = await savedPlan(page, "Yard O");
  await pinned(page, plan, "cable", "C00016", "Relabel this one");
  await pinned(page, plan, "device", "33", "Fan is loud");
  await revise(page, plan, 1, { family: "bcube", n: 5, k: 1 });
  await openPlan(page, `/plans/${plan}`);
  await notes(page).filter({ hasText: "Relabel" }).getByRole("button", { name: /was C00016/ }).click();
  await expect(page).toHaveURL(/sel=cable:C00025$/);
  await expect(page.getByRole("region", { name: "Notes on C00025" })).toContainText("C00025 (was C00016)");

  await revise(page, plan, 2, { family: "bcube", n: 4, k: 0 });
  await openPlan(page, `/plans/${plan}`);
  await expect(notes(page).filter({ hasText: "Fan is loud" })).toContainText("not in this revision");
  await expect(notes(page).filter({ hasText: "Relabel" })).toContainText("not in this revision");
});

test("a link to edits that are not saved carries the notes, which can be kept with the plan that is made of it", { tag: "@long" }, async ({ page }) => {
  const plan = await savedPlan(page, "Yard P");
  await pinned(page, plan, "rack", "R00", "Power is on the left");
  await openPlan(page, `/plans/${plan}`);
  await expect(notes(page)).toHaveCount(1);
  await page.goto(`/plans/${plan}?topology=${encodeURIComponent(JSON.stringify({ family: "bcube", n: 5, k: 1 }))}`);
  await drawn(page);
  await page.getByRole("button", { name: "Share" }).click();
  await expect(page.getByText("Link to this view copied")).toBeVisible();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  expect(link).toContain("/plans/new?");
  await openPlan(page, link);
  const copies = page.getByRole("region", { name: "Notes in this link" });
  await expect(copies).toContainText("Power is on the left");
  await expect(list(page)).toHaveCount(0);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await copies.getByRole("button", { name: "Keep with this plan" }).click();
  await expect(notes(page)).toContainText("Power is on the left");
  await expect(copies).toHaveCount(0);
});

test("two revisions are compared from the plan's history", { tag: "@long" }, async ({ page }) => {
  const plan = await savedPlan(page, "Yard Q");
  await revise(page, plan, 1, { family: "bcube", n: 5, k: 1 });
  await openPlan(page, `/plans/${plan}`);
  await page.getByRole("button", { name: "Revision 2: history" }).click();
  await page.getByRole("link", { name: "Compare with revision 1" }).click();
  await expect(page).toHaveURL(new RegExp(`plans=${plan}(@|%40)1,${plan}(@|%40)2`));
  const changed = page.getByRole("region", { name: "Changed from r1 to r2" });
  await expect(changed.getByRole("row", { name: "topology.n 4 5" })).toBeVisible();
  await expect(changed).toContainText(/Cables.*added/);
  await accessible(page);
});

test("on a phone notes are read and written", { tag: "@long" }, async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const plan = await savedPlan(page, "Yard R");
  await pinned(page, plan, "rack", "R00", "x".repeat(200));
  await openPlan(page, `/plans/${plan}?sel=rack:R00`);
  await expect(notes(page)).toHaveCount(1);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(wide).toBeLessThanOrEqual(390);
  await page.getByRole("button", { name: "Add note" }).click();
  await page.getByRole("textbox", { name: "Note on R00" }).fill("From the aisle");
  await page.getByRole("region", { name: "Notes on R00" }).getByRole("button", { name: "Add note" }).click();
  await expect(notes(page)).toHaveCount(2);
  await page.goto("/changes");
  await expect(page.getByTestId("change").first()).toContainText("Note created");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
});

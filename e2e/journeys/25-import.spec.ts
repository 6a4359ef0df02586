import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { drawn, expect, openPlan, test, total } from "./page";

/** Drops a file on the page as a file manager does. */
async function drop(page: Page, name: string, text: string, target = "body"): Promise<void> {
  const data = await page.evaluateHandle(
    ([fileName, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content!], fileName!));
      return transfer;
    },
    [name, text],
  );
  for (const event of ["dragenter", "dragover", "drop"])
    await page.locator(target).first().dispatchEvent(event, { dataTransfer: data });
}

test("a plan's JSON comes back by drag and drop, and the page says that it is the same plan", async ({ page }) => {
  await openPlan(page, '/plans/new?topology={"family":"bcube","n":4,"k":1}');
  await expect(total(page, "servers")).toHaveText("16");
  await page.getByRole("button", { name: "Export" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: /^json Plan document/i }).click();
  const text = await readFile((await (await download).path())!, "utf8");
  const { plan_hash: hash } = JSON.parse(text) as { plan_hash: string };

  await openPlan(page);
  await expect(total(page, "servers")).toHaveText("2,048");
  await drop(page, "small.json", text);
  await expect(page.getByRole("status").filter({ hasText: "Opened small.json" })).toContainText(
    `the same plan as in the file (hash ${hash.slice(0, 12)})`,
  );
  await expect(total(page, "servers")).toHaveText("16");
  await drawn(page);

  // The page recognises a file of another plan, or with other prices.
  await openPlan(page);
  await drop(page, "old.json", text.replaceAll(hash, "0".repeat(hash.length)));
  await expect(page.getByRole("status").filter({ hasText: "Opened old.json" })).toContainText("not the same plan");
});

test("what is no plan is refused in the same words, dropped or chosen", { tag: "@long" }, async ({ page }) => {
  await openPlan(page);
  const refused = page.getByRole("status").getByText("cables.txt is not JSON.");
  await drop(page, "cables.txt", "label;near;far");
  await expect(refused).toBeVisible();
  await page.getByRole("button", { name: "Dismiss" }).click();
  await page.getByRole("button", { name: /^Plan: / }).click();
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Open a file…" }).click();
  await (await chooser).setFiles({ name: "cables.txt", mimeType: "text/plain", buffer: Buffer.from("label;near;far") });
  await expect(refused).toBeVisible();
  await expect(total(page, "servers")).toHaveText("2,048");
});

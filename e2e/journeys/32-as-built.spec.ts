import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { accessible, drawn, expect, openPlan, test } from "./page";

const SPEC = { family: "bcube", n: 4, k: 1 };

async function savedPlan(page: Page, name: string): Promise<string> {
  const answer = await page.request.post("/api/v1/plans", { data: { name, spec: { topology: SPEC } } });
  expect(answer.status()).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

/** Drops files on the page as a file manager does. */
async function drop(page: Page, files: Record<string, string>): Promise<void> {
  const data = await page.evaluateHandle((named) => {
    const transfer = new DataTransfer();
    for (const [name, text] of Object.entries(named)) transfer.items.add(new File([text], name));
    return transfer;
  }, files);
  for (const event of ["dragenter", "dragover", "drop"])
    await page.locator("body").dispatchEvent(event, { dataTransfer: data });
}

/**
 * The plan's cable schedule, as the Export menu gives it: lines of cells. No cell of so small a
 * plan holds a comma but the last.
 */
async function schedule(page: Page, plan: string): Promise<string[][]> {
  await openPlan(page, `/plans/${plan}`);
  await page.getByRole("button", { name: "Export" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: /^csv Cable schedule/i }).click();
  const text = await readFile(await (await download).path(), "utf8");
  return text
    .trim()
    .split("\r\n")
    .map((line) => line.split(","));
}

const textOf = (rows: string[][]): string => rows.map((row) => row.join(",")).join("\r\n");
const tab = (page: Page, name: string) => page.getByRole("tab", { name });
const table = (page: Page) => page.getByRole("grid", { name: "Differences" });

async function damaged(page: Page, plan: string): Promise<string> {
  const rows = await schedule(page, plan);
  const column = (name: string) => rows[0]!.indexOf(name);
  const [port, ordered, device] = [column("b_port"), column("stock_metres"), column("a_host_name")];
  const [one, two, long] = [rows[1]!, rows[2]!, rows[10]!];
  [one[port], two[port]] = [two[port]!, one[port]!];
  long[ordered] = "7";
  rows[20]![port] = "P17";
  rows[31]![device] = "h9";
  return textOf(rows.filter((_, at) => at !== 6));
}

test("a damaged cable list is compared with its plan, and the work order says how to repair it", async ({ page }) => {
  const plan = await savedPlan(page, "Yard F");
  const list = await damaged(page, plan);
  await openPlan(page, `/plans/${plan}`);
  await page.getByRole("button", { name: /^Plan:/ }).click();
  await page.getByRole("button", { name: "As built" }).click();
  await expect(page.getByRole("heading", { name: "As built: Yard F" })).toBeVisible();
  await drop(page, { "floor.csv": list });
  await expect(page.getByText("26 of 32 cables in order")).toBeVisible();
  for (const kind of ["All 7", "Missing 2", "Extra 1", "Wrong port 1", "Swapped 2", "Wrong length 1"])
    await expect(tab(page, kind)).toBeVisible();
  await accessible(page);

  await tab(page, "Swapped").click();
  await expect(table(page).getByRole("row")).toHaveCount(3);
  await tab(page, "Wrong length").click();
  await expect(table(page)).toContainText("7 m instead of 3 m");
  await tab(page, "Extra").click();
  await expect(table(page)).toContainText("no device h9 in the plan");

  const steps = page.getByRole("listitem").filter({ hasText: /^(Take|Move|Unplug|Plug|Replace) / });
  await expect(steps).toHaveCount(7);
  await expect(steps.filter({ hasText: "leave the end hanging" })).toHaveCount(1);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV" }).click();
  const lines = (await readFile(await (await download).path(), "utf8")).trim().split("\r\n");
  expect(lines).toHaveLength(8);
  expect(lines[0]).toMatch(/^step,rack,action,cable,out_of,into,/);

  // A step's cable is shown in the plan's picture.
  await tab(page, "Wrong port").click();
  await page.getByRole("link", { name: "C00019" }).first().click();
  await drawn(page);
  await expect(page).toHaveURL(/sel=cable:C00019/);

  // The result is still there when one comes back.
  await page.goBack();
  await expect(page.getByText("26 of 32 cables in order")).toBeVisible();
});

test("the plan's own list is in order, and so is what LLDP sees of it", { tag: "@long" }, async ({ page }) => {
  const plan = await savedPlan(page, "Yard G");
  const rows = await schedule(page, plan);
  await page.goto(`/plans/${plan}/as-built`);
  await expect(page.getByRole("heading", { name: "As built: Yard G" })).toBeVisible();
  await drop(page, { "floor.csv": textOf(rows) });
  await expect(page.getByText("32 of 32 cables in order")).toBeVisible();
  await expect(page.getByRole("heading", { name: "Work order" })).toHaveCount(0);

  const [device, port, far, farPort] = ["a_host_name", "a_port", "b_host_name", "b_port"].map((name) =>
    rows[0]!.indexOf(name),
  );
  const outputs: Record<string, string> = {};
  for (const host of ["h00", "h01"]) {
    const seen = rows.slice(1).filter((row) => row[device!] === host);
    const neighbours = seen.map((row) => ({
      [row[port!]!]: {
        via: "LLDP",
        chassis: { [row[far!]!]: { id: { type: "mac", value: "02:00:00:00:00:01" } } },
        port: { id: { type: "ifname", value: row[farPort!] }, descr: row[farPort!] },
      },
    }));
    outputs[`${host}.json`] = JSON.stringify({ lldp: { interface: neighbours } });
  }
  await drop(page, outputs);
  await expect(page.getByText("4 of 4 cables in order, 28 of 32 not covered")).toBeVisible();
  await expect(page.getByText("LLDP: 4 cables · 2 devices reported", { exact: false })).toBeVisible();
});

test("a list that cannot be read is refused by line and column", { tag: "@long" }, async ({ page, quiet }) => {
  quiet.expectErrors();
  const plan = await savedPlan(page, "Yard H");
  await page.goto(`/plans/${plan}/as-built`);
  await expect(page.getByRole("heading", { name: "As built: Yard H" })).toBeVisible();
  await drop(page, {
    "floor.csv": "a_device,a_port,b_device,b_port\r\n#N/A,eth0,s0-0,P0\r\nh01,eth0,#REF!,P1\r\n",
  });
  const refused = page.getByRole("alert");
  await expect(refused).toContainText("line 2, column a_device");
  await expect(refused).toContainText("The cell is #N/A, an error of a formula.");
  await expect(refused).toContainText("line 3, column b_device");
  await drop(page, {
    "floor.csv": "a_device;a_port;b_device;b_port;length\r\nh00;eth0;s0-0;P0;50,000 mm\r\n;C-1;s0-0;P9;1\r\n",
  });
  await page.getByRole("button", { name: "Point: 1.5" }).click();
  await page.getByText("Rows left out").click();
  await expect(page.getByText("line 3, column a_device: The cell is empty.")).toBeVisible();
  await drop(page, { "floor.json": '{"lldp": ' });
  await expect(refused).toContainText("line 1, column 10");
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

  test("differences are cards", { tag: "@long" }, async ({ page }) => {
    const plan = await savedPlan(page, "Yard I");
    await page.goto(`/plans/${plan}/as-built`);
    await expect(page.getByRole("heading", { name: "As built: Yard I" })).toBeVisible();
    await drop(page, {
      "floor.csv": "a_device,a_port,b_device,b_port\r\nh00,eth0,s0-0,P1\r\nh01,eth0,s0-0,P0\r\n",
    });
    await expect(page.getByText("0 of 32 cables in order")).toBeVisible();
    await expect(table(page)).toBeHidden();
    await tab(page, "Swapped").click();
    await expect(page.getByRole("listitem").filter({ hasText: "2 cables exchanged" })).toHaveCount(2);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await accessible(page);
  });
});

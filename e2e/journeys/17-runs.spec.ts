import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import type { Page } from "@playwright/test";
import { accessible, colours, expect, test } from "./page";

const SMALL = { family: "bcube", n: 4, k: 2 };

/** Writes an experiment down and runs it, by the calls that the page makes. */
async function run(page: Page, experiment: Record<string, unknown>): Promise<string> {
  const made = await page.request.post("/api/v1/experiments", { data: experiment });
  expect(made.status(), await made.text()).toBe(201);
  const { id } = (await made.json()) as { id: string };
  const started = await page.request.post(`/api/v1/experiments/${id}/runs`);
  expect(started.status()).toBe(202);
  return ((await started.json()) as { id: string }).id;
}

const state = async (page: Page, id: string): Promise<string> =>
  ((await (await page.request.get(`/api/v1/runs/${id}`)).json()) as { state: string }).state;

/** Long enough to be watched, in points that take a moment each. */
const LONG = {
  plan: SMALL,
  workload: { kind: "all-to-all" },
  axes: { failure: { kind: "switch", ratios: [0, 0.05, 0.1, 0.15, 0.2] }, seeds: 1000 },
};

test("a prediction shows its numbers, and every link on the floor, in the logical view and as a table", async ({
  page,
}, info) => {
  const id = await run(page, {
    plan: SMALL,
    workload: { kind: "permutation" },
    faults: [{ target: { kind: "switch", ratio: 0.1 } }],
    flow_gigabits: 1,
    link_load: true,
  });
  await page.goto(`/runs/${id}`);
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over");
  const numbers = page.getByRole("region", { name: "Results of one point" });
  await expect(numbers).toContainText("Aggregate bottleneck throughput");
  await expect(numbers).toContainText("64 all");
  await expect(numbers).toContainText("5 switches");
  await expect(numbers.getByRole("figure", { name: "Throughput until the last flow completes" })).toBeVisible();
  await expect(page.getByRole("complementary", { name: "Setup" })).toContainText("10 % of switches");

  const links = page.getByRole("region", { name: "Links", exact: true });
  await expect(links.getByRole("application")).toHaveAccessibleName(/links by flows/);
  await expect.poll(() => colours(page)).toBeGreaterThan(4);
  const loads = links.getByRole("figure", { name: "Distribution of link loads" });
  await loads.getByRole("img").press("ArrowRight");
  await expect(loads.getByRole("status")).toContainText(/^flows per link direction \d+: Level 0 \d/);
  await loads.getByRole("button", { name: "Table" }).click();
  // No direction carries more than the greatest load: each of the three levels is complete in the
  // last row.
  await expect(loads.getByRole("row").last()).toContainText(/(100\s%){3}$/);
  await loads.getByRole("button", { name: "Table" }).click();
  const table = links.getByRole("grid", { name: "Load per link" });
  await expect(table).toHaveAttribute("aria-rowcount", "193");
  // The fullest first; choosing it selects it in the picture and in the address.
  const first = table.getByRole("row").nth(1);
  await first.click();
  await expect(page).toHaveURL(/sel=cable:C\d+/);
  await links.getByRole("tab", { name: "Logical" }).click();
  await expect(page).toHaveURL(/view=logical/);
  await expect.poll(() => colours(page)).toBeGreaterThan(4);
  await page.reload();
  await expect(links.getByRole("tab", { name: "Logical" })).toHaveAttribute("aria-selected", "true");
  await expect(links.getByRole("button", { name: "Clear 1 cable" })).toBeVisible();
  for (const theme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
    await page.waitForTimeout(300);
    await page.screenshot({ path: info.outputPath(`prediction-${theme}.png`), fullPage: true });
    await accessible(page);
  }
});

/** The bytes that a run's stream sends within `ms`: whole frames, and perhaps a part of one. */
async function beginning(url: string, ms: number): Promise<string> {
  const stop = new AbortController();
  const response = await fetch(url, { signal: stop.signal });
  setTimeout(() => stop.abort(), ms);
  let text = "";
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += piece.value;
  } catch {
    // Cut, as meant.
  }
  return text;
}

test("a run is watched live, outlives lost connections and is cancelled within a second", async ({
  page,
  quiet,
}) => {
  // A connection that is cut is written into the browser's console.
  quiet.expectErrors();
  const id = await run(page, LONG);
  // The first connection breaks in the middle of a frame, the next ones do not come about, then all
  // is well.
  let connections = 0;
  let reachable = false;
  const resumed: string[] = [];
  await page.route(`**/api/v1/runs/${id}/events`, async (route) => {
    connections++;
    if (connections === 1) {
      const text = await beginning(route.request().url(), 3000);
      await route.fulfill({ contentType: "text/event-stream", body: text.slice(0, -20) });
    } else if (!reachable) await route.abort("connectionfailed");
    else {
      resumed.push(route.request().headers()["last-event-id"] ?? "");
      await route.continue();
    }
  });
  await page.goto(`/runs/${id}`);
  await expect(page.getByRole("alert")).toContainText("Connection lost");
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "lost");
  const shown = Number(
    await page.getByRole("grid", { name: "Points of the run" }).getAttribute("aria-rowcount"),
  );
  expect(shown).toBeGreaterThan(1);
  reachable = true;
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "live");
  await expect(page.getByRole("progressbar", { name: "Progress of the run" })).toBeVisible();
  const points = page.getByRole("grid", { name: "Points of the run" });
  const count = async () => Number(await points.getAttribute("aria-rowcount"));
  await expect.poll(count).toBeGreaterThan(3);
  const before = await count();
  await expect.poll(count).toBeGreaterThan(before);
  await accessible(page);

  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(Number(resumed[0])).toBeGreaterThanOrEqual(shown);

  await page.getByRole("button", { name: "Cancel" }).click();
  const asked = Date.now();
  await expect(page.getByText("cancelled", { exact: true })).toBeVisible();
  const took = Date.now() - asked;
  // A second where the journey has the machine to itself; longer where others wait for the same
  // cores.
  const crowd = Math.max(1, loadavg()[0]! / cpus().length);
  console.log(`cancelled after ${took} ms, at ${crowd.toFixed(1)} times the machine's cores`);
  expect(took).toBeLessThan(1000 * crowd);
  expect(await state(page, id)).toBe("cancelled");

  // Each frame once: the screen shows what the server stored.
  const kept = (await (await page.request.get(`/api/v1/runs/${id}/results`)).json()) as {
    points: { point: number }[];
  };
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over");
  await expect(points).toHaveAttribute("aria-rowcount", String(kept.points.length + 1));
});

test("results and reports are downloaded as they are on the server", { tag: "@long" }, async ({ page }) => {
  const id = await run(page, { plan: SMALL, workload: { kind: "all-to-all" }, seeds: [7, 8] });
  await page.goto(`/runs/${id}`);
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over");
  const save = async (item: RegExp) => {
    await page.getByRole("button", { name: "Download" }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: item }).click();
    return readFileSync(await (await download).path());
  };
  const csv = (await save(/^CSV/)).toString();
  expect(csv.trim().split(/\r?\n/)).toHaveLength(3);
  expect(csv).toContain("abt_gbps");
  expect((await save(/^Parquet/)).subarray(0, 4).toString()).toBe("PAR1");
  expect(JSON.parse((await save(/^JSON/)).toString())).toMatchObject({ complete: true });
  expect((await save(/^Report, HTML/)).toString()).toContain("<html");
  expect((await save(/^Report, PDF/)).subarray(0, 5).toString()).toBe("%PDF-");
});

test("runs are listed, filtered, stopped and forgotten", { tag: "@long" }, async ({ page }, info) => {
  const long = await run(page, { ...LONG, name: "Listed and long" });
  await page.goto("/runs");
  const row = page.getByRole("row").filter({ hasText: "Listed and long" });
  await expect(row.getByText(/running|queued/)).toBeVisible();
  await accessible(page);
  await page.screenshot({ path: info.outputPath("runs.png") });
  await row.getByRole("button", { name: "Cancel Listed and long" }).click();
  await expect(row).toContainText("cancelled");
  expect(await state(page, long)).toBe("cancelled");

  await page.getByLabel("State").selectOption("cancelled");
  await expect(page).toHaveURL(/state=cancelled/);
  await expect(page.getByRole("row").filter({ hasText: "succeeded" })).toHaveCount(0);
  await page.getByLabel("Filter runs by name").fill("listed and");
  await expect(page.getByRole("row")).toHaveCount(2);
  await expect(page).toHaveURL(/q=listed/);
  await page.reload();
  await expect(page.getByLabel("Filter runs by name")).toHaveValue("listed and");
  await row.getByRole("button", { name: "Delete Listed and long" }).click();
  await row.getByRole("button", { name: "Delete permanently" }).click();
  await expect(page.getByText("No matching runs")).toBeVisible();
  await page.getByRole("button", { name: "Show all runs" }).click();
  await expect(page.getByLabel("State")).toHaveValue("");
});

test("a run that is not there says so", { tag: "@long" }, async ({ page, quiet }) => {
  quiet.expectErrors();
  await page.goto("/runs/0a1b2c3d4e5f6g");
  await expect(page.getByRole("alert")).toContainText("This run cannot be shown");
  await page.getByRole("link", { name: "All runs" }).click();
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
});

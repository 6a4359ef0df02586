import { readFileSync } from "node:fs";
import type { Locator, Page } from "@playwright/test";
import { accessible, expect, openPlan, test } from "../page";

/** Whether this machine sends real packets, and how. */
async function machine(page: Page): Promise<{ ready: boolean; modes: string[] }> {
  return (await page.request.get("/api/v1/emulation")).json() as Promise<{ ready: boolean; modes: string[] }>;
}

const form = (page: Page): Locator => page.getByRole("form", { name: "New experiment" });
const canvas = (page: Page): Locator => page.getByTestId("live-canvas");
const picture = (page: Page): Promise<string> =>
  canvas(page).evaluate((element) => (element as HTMLCanvasElement).toDataURL());
const clock = async (page: Page): Promise<number> =>
  Number.parseFloat(((await page.getByTestId("clock").textContent()) ?? "").replace("−", "-"));

/** CPU time of the page's main thread per tick, in milliseconds. */
async function costOfTick(page: Page, ticks: number): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const spent = async () =>
    (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration")!.value;
  const before = await spent();
  await page.waitForTimeout(ticks * 100);
  const cost = ((await spent()) - before) * (1000 / ticks);
  await session.detach();
  return cost;
}

async function looks(page: Page, path: (name: string) => string, name: string): Promise<void> {
  for (const theme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
    await page.waitForTimeout(600);
    await page.screenshot({ path: path(`${name}-${theme}.png`) });
    await accessible(page);
  }
}

test("sixteen servers send real packets: a cable is pulled by a click, flows move, all is stopped, replayed and reported", async ({
  page,
}, info) => {
  const { ready, modes } = await machine(page);
  test.skip(!ready && !process.env["CI"], "This machine cannot send real packets: GET /api/v1/emulation says what is missing.");
  test.setTimeout(180_000);

  // Composed in the page.
  await page.goto("/experiments?engine=emulation");
  const fields = form(page);
  await expect(page.getByTestId("machine")).toContainText("This machine runs up to");
  await fields
    .getByLabel("Run servers as")
    .selectOption(modes.includes("namespaces") ? "namespaces" : modes[0]!);
  await fields.getByLabel("Link rate").fill("20");
  // Longer than needed: the hypothesis ends it once it is broken, however slow the machine is.
  await fields.getByLabel("Measure for").fill("150");
  await fields.getByLabel("Settle for").fill("1");
  await fields.getByRole("button", { name: "Add a hypothesis" }).click();
  await fields.getByLabel("Stays at least").fill("5"); // one cable cannot break it, not even on a machine that is late
  await fields.getByLabel("Recovers within").fill("3");
  await fields.getByLabel("End the run when the hypothesis is not met").check();
  await expect(page.getByRole("region", { name: "Estimate" })).toContainText("240");
  // A stale result is dimmed until the new one arrives.
  await expect(page.locator("[data-stale=true]")).toHaveCount(0);
  await accessible(page);
  await fields.getByRole("button", { name: "Run", exact: true }).click();

  // Live: the phases go by, and the picture changes with every tick.
  await expect(page).toHaveURL(/\/runs\/\w+$/);
  const id = /runs\/(\w+)/.exec(page.url())![1]!;
  const phases = page.getByRole("list", { name: "Phases of the session" });
  await expect(phases.locator("[aria-current=step]")).toHaveText("Measuring", { timeout: 40_000 });
  const stop = page.getByRole("button", { name: "Recover all faults" });
  await expect(stop).toBeEnabled();
  await expect.poll(() => clock(page)).toBeGreaterThan(1);
  const before = await picture(page);
  await expect.poll(() => picture(page)).not.toBe(before);
  const cost = await costOfTick(page, 20);
  console.log(`a tick takes ${cost.toFixed(1)} ms of the main thread`);
  expect(cost).toBeLessThan(20);

  // In inject mode a click selects a target, the page shows the blast radius, and nothing fails
  // before the user confirms.
  await page.getByLabel("Inject faults").check();
  const box = (await canvas(page).boundingBox())!;
  await page.mouse.click(box.x + box.width * 0.112, box.y + box.height * 0.61);
  const breaking = page.getByRole("form", { name: "Inject a fault" });
  await expect(breaking.getByLabel("Target")).toHaveValue("00/<0,0>");
  await expect(breaking.getByLabel("Fault", { exact: true })).toHaveValue("cable-pulled");
  await expect(page.getByTestId("blast")).toContainText("Every flow keeps a path");
  await expect(page.getByTestId("blast")).toContainText("Predicted ABT");
  await expect(page.getByRole("button", { name: /^Recover \w\d/ })).toHaveCount(0);
  await page.screenshot({ path: info.outputPath("inject.png") });
  await breaking.getByRole("button", { name: "Inject fault" }).click();
  const faults = page.getByRole("region", { name: "Faults" });
  await expect(faults).toContainText("Cable unplugged 00/<0,0>");
  await page.screenshot({ path: info.outputPath("broken.png") });

  // On the floor its one rack shows every cable, live, each to be chosen; by keys too.
  await page.getByRole("tab", { name: "Floor" }).click();
  const rack = page.getByRole("application", { name: /^Network: 16 servers/ });
  const racked = await picture(page);
  await expect.poll(() => picture(page)).not.toBe(racked);
  await page.getByLabel("Inject faults").uncheck();
  await rack.focus();
  await page.keyboard.press(",");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/sel=link:33/);
  await expect(page.getByTestId("inspector")).toContainText("Total carried");
  await page.screenshot({ path: info.outputPath("racks.png") });
  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Logical" }).click();

  // Servers report the faults that they detected; a flow that moved shows its paths.
  await page.getByRole("tab", { name: /^Events/ }).click();
  await page.getByLabel("Kind of event").selectOption("neighbour-dead");
  await expect(page.getByRole("log", { name: "Events" })).toContainText("at 00");
  await page.getByLabel("Kind of event").selectOption("path-switched");
  await page
    .getByRole("log", { name: "Events" })
    .getByRole("button", { name: /^\d\d → \d\d rerouted/ })
    .first()
    .click();
  await expect(page).toHaveURL(/sel=flow:\d+/);
  await expect.poll(() => page.getByTestId("routes").getByRole("listitem").count()).toBeGreaterThan(1);
  await page.screenshot({ path: info.outputPath("flow.png") });

  // Recover faults one by one, then a switch by its name, then all.
  await page.getByRole("tab", { name: /^Faults/ }).click();
  await faults.getByRole("button", { name: "Recover F1" }).click();
  await expect(faults).toContainText("recovered");
  await page.getByLabel("Inject faults").check();
  await breaking.getByLabel("Target").fill("<1,2>");
  await expect(page.getByTestId("blast")).toContainText("<1,2>");
  await breaking.getByRole("button", { name: "Inject fault" }).click();
  await expect(faults.getByRole("button", { name: "Recover F2" })).toBeVisible();
  await stop.click();
  await expect(page.getByTestId("stop-state")).toContainText("All recovered at");
  await expect(faults.getByRole("button", { name: /^Recover \w\d/ })).toHaveCount(0);

  // A fault that nothing survives breaks the hypothesis: the run aborts and recovers all faults.
  await breaking.getByLabel("Target").fill("100% of switches");
  await expect(page.getByTestId("blast")).toContainText("Affects 8 items");
  await breaking.getByRole("button", { name: "Inject fault" }).click();
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over", { timeout: 60_000 });
  await expect(page.getByTestId("verdict")).toContainText("Hypothesis not met");
  await expect(page.getByTestId("verdict")).toContainText(/faithful|host-limited/);
  const report = page.getByRole("region", { name: "Report" });
  for (const window of ["before", "during", "after"])
    await expect(report.getByRole("columnheader", { name: window, exact: true })).toBeVisible();
  await expect(report).toContainText("F1 Cable unplugged: 00/<0,0>");
  await expect(stop).toHaveCount(0);
  await looks(page, (name) => info.outputPath(name), "over");

  // Replay is the same screen at another time, by keys, by playing and by its address.
  const slider = page.getByRole("slider", { name: "Time in the run" });
  await slider.focus();
  await page.keyboard.press("Home");
  await expect(page.getByTestId("mode")).toHaveText("Replay");
  expect(await clock(page)).toBeLessThanOrEqual(0);
  const begin = await picture(page);
  for (let i = 0; i < 5; i++) await page.keyboard.press("PageUp");
  await expect.poll(() => clock(page)).toBeGreaterThan(3);
  await expect.poll(() => picture(page)).not.toBe(begin);
  await expect(page).toHaveURL(/mode=replay&at=/);
  const at = await clock(page);
  await expect.poll(() => Number(new URL(page.url()).searchParams.get("at"))).toBeCloseTo(at, 0);
  await page.reload();
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over");
  await expect.poll(() => clock(page)).toBeCloseTo(at, 0);
  await page.getByLabel("Speed").selectOption("10");
  await page.getByRole("button", { name: "Play" }).click();
  await expect(page.getByTestId("mode")).toHaveText("At the end", { timeout: 20_000 });

  // The server stores the frames that it sent, in small frames, and the download equals the stored
  // file.
  const stream = await (await page.request.get(`/api/v1/runs/${id}/events`)).text();
  const sizes = [...stream.matchAll(/event: tick\ndata: (.*)/g)].map(([, data]) => data!.length);
  expect(sizes.length).toBeGreaterThan(50);
  console.log(`a tick is ${Math.max(...sizes)} bytes at most, ${sizes.length} ticks`);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(9 * 1024);
  // The predicted rate changes with every fault and every recovery.
  const expected = [...stream.matchAll(/event: predicted\ndata: (.*)/g)].map(([, data]) => JSON.parse(data!));
  expect(expected.map(({ failed }) => failed.length).slice(0, 4)).toEqual([1, 0, 1, 0]);
  await page.getByRole("button", { name: "Download" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: "Report, HTML" }).click();
  expect(readFileSync(await (await download).path()).toString()).toContain("<html");
});

test("from the default plan, Emulate and Run start a live run of a part that the page names", async ({ page }, info) => {
  const { ready, modes } = await machine(page);
  test.skip(!ready && !process.env["CI"], "This machine cannot send real packets: GET /api/v1/emulation says what is missing.");
  test.setTimeout(180_000);
  await openPlan(page);
  await page.getByTitle("Emulate with real packets").click();
  const fields = form(page);
  await expect(page.getByTestId("taken")).toContainText("64 of 2,048 servers");
  if (modes.includes("namespaces")) await fields.getByLabel("Run servers as").selectOption("namespaces");
  await fields.getByLabel("Link rate").fill("2");
  const run = fields.getByRole("button", { name: "Run", exact: true });
  await expect(run).toBeEnabled();
  await expect(page.locator("[data-stale=true]")).toHaveCount(0);
  await run.click();
  await expect(page).toHaveURL(/\/runs\/\w+$/);
  const phases = page.getByRole("list", { name: "Phases of the session" });
  await expect(phases.locator("[aria-current=step]")).toHaveText("Measuring", { timeout: 90_000 });
  await expect.poll(() => clock(page)).toBeGreaterThan(1);
  await page.screenshot({ path: info.outputPath("live.png") });
  await page.getByRole("button", { name: "End run" }).click();
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over", { timeout: 60_000 });
});

test("a plan too large for the machine gives way at once, and says what was taken and how to take another", { tag: "@long" }, async ({
  page,
  quiet,
}) => {
  // A refused estimate is a 422, which the browser writes into its console.
  quiet.expectErrors();
  await openPlan(page);
  await page.getByTitle("Emulate with real packets").click();
  await expect(page).toHaveURL(/engine=emulation|draft=/);
  const fields = form(page);
  const taken = page.getByTestId("taken");
  const run = fields.getByRole("button", { name: "Run", exact: true });
  await expect(fields.getByRole("radio", { name: "Emulation" })).toBeChecked();
  await expect(taken).toContainText("Takes the BCube(8,1) around server 0000: 64 of 2,048 servers");
  await expect(fields.getByLabel("Around server")).toHaveValue("0000");
  await expect(fields.getByLabel("Workload")).toHaveValue("permutation");
  // The estimate speaks of the slice.
  const row = page.getByRole("region", { name: "Estimate" }).getByRole("row").nth(1);
  await expect(row.getByRole("cell")).toHaveText([/^64$/, /^128$/, /^64$/, /./, /none/]);
  await expect(run).toBeEnabled();
  await accessible(page);
  await page.reload();
  await expect(taken).toContainText("64 of 2,048 servers");
  await taken.getByRole("button", { name: "Copy command" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^cubeyard emulate --spec .*--workload permutation/);
  // Another size is taken of the whole plan, not of the part.
  await taken.getByLabel("Servers, at most").fill("30");
  await taken.getByRole("button", { name: "Take another" }).click();
  await expect(taken).toContainText("27 servers instead of 2,048");
  await expect(run).toBeEnabled();

  // Parts that name a device outside the limit are removed only after confirmation.
  const far = { kind: "server-off", target: { names: ["(9,9,7)"] }, at_secs: 5 };
  await page.goto("/experiments?as=json");
  await page.getByLabel("The experiment as JSON").fill(
    JSON.stringify({
      plan: { topology: { family: "torus3d", x: 16, y: 16, z: 8 } },
      workload: { kind: "permutation" },
      engine: "emulation",
      faults: [far],
    }),
  );
  const offer = page.getByTestId("offer");
  await expect(offer).toContainText("(9,9,7)");
  await expect(run).toBeDisabled();
  await offer.getByRole("button", { name: /^Leave them out and take \d+ servers$/ }).click();
  await expect(taken).toContainText("Left out: server-off of (9,9,7)");
  await expect(run).toBeEnabled();

  // An error of a field that the form does not have appears next to Run.
  await page.goto("/experiments?as=json");
  await page.getByLabel("The experiment as JSON").fill(
    JSON.stringify({
      plan: { topology: { family: "bcube", n: 4, k: 1 } },
      workload: { kind: "permutation" },
      engine: "emulation",
      emulation: { gateways: ["nowhere"] },
    }),
  );
  const remove = fields.getByRole("button", { name: "Remove emulation.gateways" });
  await expect(remove).toBeVisible();
  await remove.click();
  await expect(run).toBeEnabled();

  // An invalid fault shows an error at its field; fields of the emulation disappear with it.
  await fields.getByRole("button", { name: "Add a fault" }).click();
  await fields.getByLabel("Fault 1, target").selectOption("names");
  await fields.getByLabel("Fault 1, names").fill("nowhere");
  await fields.getByLabel("Fault 1, type").selectOption("cable-pulled");
  await expect(fields.getByRole("group", { name: "Fault 1" })).toContainText("nowhere");
  await expect(run).toBeDisabled();
  // The count of fields leads to the first of them.
  await fields.getByRole("button", { name: "1 field to correct" }).click();
  await expect(fields.getByRole("group", { name: "Fault 1" }).locator(":focus")).toHaveCount(1);
  await accessible(page);
  await fields.getByRole("radio", { name: "Prediction" }).click();
  await expect(fields.getByLabel("Fault 1, type")).toHaveValue("cable-pulled");
  await expect(fields.getByLabel("Fault 1, repeat interval in seconds")).toHaveCount(0);
  await expect(fields.getByRole("group", { name: "Slice of the plan" })).toHaveCount(0);

  // The same by the palette.
  await openPlan(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run a command" }).fill("emulate this");
  await page.keyboard.press("Enter");
  await expect(fields.getByRole("radio", { name: "Emulation" })).toBeChecked();
});

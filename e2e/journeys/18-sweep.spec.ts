import { readFileSync } from "node:fs";
import { accessible, expect, test } from "./page";

const BCUBE = { family: "bcube", n: 4, k: 2 };
const DCELL = { family: "dcell", n: 4, k: 1 };

test("a sweep overlays topologies over failure rates, with bands of seeds, one chart a kind of failure", { tag: "@long" }, async ({
  page,
}, info) => {
  const made = await page.request.post("/api/v1/experiments", {
    data: {
      name: "Two cubes failing",
      plan: BCUBE,
      workload: { kind: "all-to-all" },
      axes: {
        topologies: [BCUBE, DCELL],
        failure: [
          { kind: "server", ratios: [0, 0.1, 0.2] },
          { kind: "switch", ratios: [0, 0.1, 0.2] },
        ],
        seeds: 3,
      },
    },
  });
  const experiment = (await made.json()) as { id: string; points: number };
  expect(experiment.points).toBe(36);
  await page.goto("/experiments");
  await page.getByRole("button", { name: "Run Two cubes failing" }).first().click();
  await expect(page).toHaveURL(/\/runs\//);

  const curves = page.getByRole("region", { name: "Curves" });
  const servers = curves.getByRole("figure", { name: "ABT under server failures" });
  const switches = curves.getByRole("figure", { name: "ABT under switch failures" });
  await expect(servers).toBeVisible();
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over");
  await expect(servers.getByRole("listitem")).toHaveText(["BCube(4,2)", "DCell(4,1)"]);
  await expect(servers.locator("polygon")).toHaveCount(2);
  await expect(switches).toContainText("line: mean of the seeds, band: minimum to maximum");
  await expect(curves.getByRole("figure", { name: "Dropped flows under server failures" })).toBeVisible();

  // The numbers on screen are those of the points: mean, least and most of the seeds.
  await servers.getByRole("button", { name: "Table" }).click();
  const row = servers.getByRole("row").nth(2);
  await expect(row.getByRole("cell").first()).toHaveText("10 %");
  const run = /\/runs\/([0-9a-z]+)/.exec(page.url())![1]!;
  const { points } = (await (await page.request.get(`/api/v1/runs/${run}/results`)).json()) as {
    points: { topology: number; failure_kind: string; failure_ratio: number; result: { abt_gbps: number } }[];
  };
  const abt = points
    .filter((p) => p.topology === 0 && p.failure_kind === "server" && p.failure_ratio === 0.1)
    .map((p) => p.result.abt_gbps);
  expect(abt).toHaveLength(3);
  const shown = (value: number) => String(Number(value.toFixed(2)));
  const mean = abt.reduce((sum, value) => sum + value, 0) / abt.length;
  for (const [at, value] of [mean, Math.min(...abt), Math.max(...abt)].entries())
    await expect(row.getByRole("cell").nth(at + 1)).toContainText(shown(value));
  const download = page.waitForEvent("download");
  await servers.getByRole("button", { name: /as CSV/ }).click();
  expect(readFileSync(await (await download).path(), "utf8")).toContain('"BCube(4,2), from"');
  await servers.getByRole("button", { name: "Table" }).click();

  // One crosshair over both charts.
  await servers.getByRole("img").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(servers.locator("svg text").filter({ hasText: "failed servers 10 %" })).toBeVisible();
  await expect(switches.locator("svg text").filter({ hasText: "failed switches 10 %" })).toBeVisible();

  await curves.getByRole("radio", { name: "Path" }).click();
  await expect(page).toHaveURL(/metric=hops/);
  await expect(curves.getByRole("figure", { name: "Mean path under switch failures" })).toBeVisible();

  // A point of the table shows its numbers, and its links on request.
  const grid = page.getByRole("grid", { name: "Points of the run" });
  await expect(grid).toHaveAttribute("aria-rowcount", "37");
  await grid.getByRole("row").nth(5).click();
  await expect(page).toHaveURL(/point=4/);
  await expect(page.getByRole("region", { name: "Results of one point" })).toContainText(
    "10 % of switches failed, seed 7",
  );
  await page.getByRole("button", { name: "Compute them" }).click();
  await expect(page.getByRole("grid", { name: "Load per link" })).toHaveAttribute(
    "aria-rowcount",
    "193",
  );
  for (const theme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
    await page.waitForTimeout(300);
    await page.screenshot({ path: info.outputPath(`sweep-${theme}.png`) });
    await accessible(page);
  }
});

test("a sweep is composed in the form: two plans overlaid, two kinds of failure", async ({ page }) => {
  await page.goto("/experiments");
  const form = page.getByRole("form", { name: "New experiment" });
  await page.getByRole("radio", { name: "JSON" }).click();
  await page
    .getByLabel("The experiment as JSON")
    .fill(JSON.stringify({ plan: BCUBE, workload: { kind: "permutation" } }));
  await page.getByRole("radio", { name: "Estimate" }).click();
  await expect(form.getByRole("button", { name: /BCube\(4,2\)/ })).toBeVisible();
  await form.getByRole("button", { name: "Add a plan to compare" }).click();
  await page.getByRole("menuitem", { name: /^Two-level tree 48-port/ }).click();
  await form.getByLabel("servers", { exact: true }).check();
  await form.getByLabel("links", { exact: true }).check();
  await form.getByLabel("Failure rates (%)").fill("0, 20");
  const estimate = page.getByRole("region", { name: "Estimate" });
  await expect(estimate).toContainText("8 points", { timeout: 30_000 });
  await expect(estimate).toContainText("2 failure rates of servers + 2 failure rates of links");
  await accessible(page);
  await form.getByRole("button", { name: "Run" }).click();
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over", { timeout: 40_000 });
  await expect(page.getByRole("figure", { name: "ABT under link failures" })).toBeVisible();
});

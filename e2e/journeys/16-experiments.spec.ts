import { readFile } from "node:fs/promises";
import type { Locator, Page } from "@playwright/test";
import { accessible, expect, openPlan, test } from "./page";

const form = (page: Page): Locator => page.getByRole("form", { name: "New experiment" });
const estimate = (page: Page): Locator => page.getByRole("region", { name: "Estimate" });

/** A plan small enough that every call of a journey takes a moment. */
async function smallPlan(page: Page, name: string): Promise<string> {
  const answer = await page.request.post("/api/v1/plans", {
    data: { name, spec: { topology: { family: "bcube", n: 4, k: 1 } } },
  });
  expect(answer.status()).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

test("a plan is predicted from its own page, with the cost said before anything runs", async ({ page }) => {
  await openPlan(page);
  await page.getByTitle("Predict throughput").click();
  await expect(page).toHaveURL(/\/experiments\?/);
  await expect(form(page).getByRole("button", { name: /Partial BCube\(8,3\)/ })).toContainText(
    "2,048 servers",
  );
  await expect(estimate(page)).toContainText(/1 point, /, { timeout: 40_000 });
  await expect(estimate(page)).toContainText("4,192,256");
  await expect(estimate(page)).toContainText("bsr");
  await accessible(page);

  // The same by the palette.
  await openPlan(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run a command" }).fill("predict this");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/experiments\?/);
});

test("each workload has its own parameters, and bad ones are refused at their fields", { tag: "@long" }, async ({
  page,
  quiet,
}) => {
  // A refused estimate is a 422, which the browser writes into its console.
  quiet.expectErrors();
  const id = await smallPlan(page, "Refusals");
  await page.goto(`/experiments?plan=${id}`);
  const fields = form(page);
  await expect(fields.getByRole("button", { name: /Refusals/ })).toBeVisible();
  await fields.getByLabel("Workload").selectOption("incast");
  await fields.getByLabel("Receiver").fill("nobody");
  await expect(fields.getByText(/nobody/)).toBeVisible();
  await expect(fields.getByText("1 field to correct")).toBeVisible();
  await expect(fields.getByRole("button", { name: "Run" })).toBeDisabled();
  await accessible(page);
  await fields.getByLabel("Receiver").fill("01");
  await expect(fields.getByRole("button", { name: "Run" })).toBeEnabled();
  await expect(estimate(page)).toContainText("1 point");

  await fields.getByRole("button", { name: "Add a fault" }).click();
  await fields.getByLabel("Fault 1, target").selectOption("words");
  await fields.getByLabel("Fault 1, selector").fill("5 gremlins");
  await expect(fields.getByRole("group", { name: "Fault 1" })).toContainText("5 gremlins");
  await fields.getByLabel("Fault 1, selector").fill("2 servers");
  await expect(estimate(page)).toContainText("2 servers");
  await fields.getByLabel("Fault 1, target").selectOption("names");
  await fields.getByLabel("Fault 1, names").fill("<1,2> 03");
  await expect(estimate(page)).toContainText("1 server, 1 switch");
  // A slower link needs a target with links; the error for other targets appears at its field.
  await fields.getByLabel("Fault 1, type").selectOption("link-rate");
  await expect(fields.getByRole("group", { name: "Fault 1" })).toContainText("affects no link");
  await fields.getByLabel("Fault 1, names").fill("00/<0,0>");
  await expect(estimate(page)).toContainText("1 link degraded");
  await fields.getByRole("button", { name: "Remove fault 1" }).click();

  // Only the schemes of the family are offered.
  await expect(fields.getByLabel("Scheme").locator("option")).toContainText(["Default for each topology", "bsr"]);
  await expect(fields.getByLabel("Scheme").locator("option", { hasText: "dfr" })).toHaveCount(0);

  await fields.getByLabel("Workload").selectOption("matrix");
  await fields.getByLabel("Lines of sender, receiver, weight").fill("00;01;1\n02");
  await expect(fields.getByText(/Line 2/)).toBeVisible();
  await fields.getByLabel("Lines of sender, receiver, weight").fill("00;01;1\n02;03;2");
  await expect(estimate(page).getByRole("row", { name: /BCube/ })).toContainText("2");
});

test("form, JSON, link and REST call are the same experiment", { tag: "@long" }, async ({ page }) => {
  const id = await smallPlan(page, "Four views");
  await page.goto(`/experiments?plan=${id}`);
  const fields = form(page);
  await fields.getByLabel("switches").check();
  await fields.getByLabel("Failure rates (%)").fill("0-20/10");
  await fields.getByLabel("Seeds").fill("7-10");
  await expect(estimate(page)).toContainText("12 points");
  await expect(estimate(page)).toContainText("3 failure rates of switches × 4 seeds");

  await page.getByRole("radio", { name: "JSON" }).click();
  const json = page.getByLabel("The experiment as JSON");
  const body = JSON.parse(await json.inputValue()) as Record<string, unknown>;
  expect(body).toMatchObject({
    plan: { id },
    axes: { failure: [{ kind: "switch", ratios: [0, 0.1, 0.2] }] },
    seeds: [7, 8, 9, 10],
  });
  await json.fill("{");
  await expect(page.getByText("Not valid JSON")).toBeVisible();
  await json.fill(JSON.stringify({ ...body, seeds: [1, 2], routing: "shortest" }));
  await expect(fields.getByLabel("Seeds")).toHaveValue("1, 2");
  await expect(fields.getByLabel("Scheme")).toHaveValue("shortest");
  await accessible(page);

  await page.getByRole("button", { name: "Copy as curl" }).last().click();
  const curl = await page.evaluate(() => navigator.clipboard.readText());
  expect(curl).toContain("/api/v1/experiments");
  expect(curl).toContain('"routing":"shortest"');

  await expect(page).toHaveURL(/draft=/);
  await page.reload();
  await expect(fields.getByLabel("Seeds")).toHaveValue("1, 2");
  await expect(fields.getByLabel("Scheme")).toHaveValue("shortest");
});

test("an experiment is run, found again, asked once more and forgotten", { tag: "@long" }, async ({ page }) => {
  const id = await smallPlan(page, "Kept");
  await page.goto(`/experiments?plan=${id}`);
  const name = `Kept ${Date.now()}`;
  await form(page).getByLabel("Name of the experiment").fill(name);
  await form(page).getByRole("button", { name: "Run" }).click();
  await expect(page).toHaveURL(/\/runs\/[0-9a-z]+/);
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  await expect(page.getByText("succeeded")).toBeVisible();

  await page.getByRole("link", { name: "Duplicate" }).click();
  await expect(form(page).getByRole("button", { name: /Kept/ })).toBeVisible();

  await page.goto("/experiments");
  await page.getByLabel("Filter experiments by name").fill(name);
  // The filter is in the address once the typing rests; going back finds it there.
  await expect(page).toHaveURL(/[?&]q=Kept/);
  const row = page.getByRole("row").filter({ hasText: name });
  await expect(row).toHaveCount(1);
  await row.getByRole("link", { name: /^Runs of/ }).click();
  await expect(page.getByRole("row").filter({ hasText: name })).toHaveCount(1);
  await page.goBack();
  await row.getByRole("button", { name: /^Delete/ }).click();
  await row.getByRole("button", { name: "Delete with its runs" }).click();
  await expect(row).toHaveCount(0);
  await expect(page.getByText("No matching experiments")).toBeVisible();
});

test("a scenario file is dropped on the form, run, judged by its hypotheses and saved again", async ({ page, quiet }) => {
  quiet.expectErrors();
  const text = await readFile("../examples/scenarios/switches-fail.yaml", "utf8");
  const drop = async (name: string, content: string) => {
    const data = await page.evaluateHandle(
      ([fileName, inside]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([inside!], fileName!));
        return transfer;
      },
      [name, content],
    );
    for (const event of ["dragenter", "dragover", "drop"])
      await page.locator("body").dispatchEvent(event, { dataTransfer: data });
  };
  await page.goto("/experiments");
  await expect(form(page).getByRole("button", { name: "Open a scenario…" })).toBeVisible();
  await drop("wrong.yaml", text.replace("ratio: 0.1", "ratio: 7"));
  await expect(form(page).getByText("wrong.yaml cannot be opened.")).toContainText("Line 13, faults[0].target.ratio");
  await drop("switches-fail.yaml", text);
  await expect(form(page).getByText("Opened switches-fail.yaml.")).toBeVisible();
  await expect(form(page).getByLabel("Name of the experiment")).toHaveValue("A tenth of the switches fails");
  await expect(form(page).getByRole("group", { name: "Hypothesis 2" }).getByLabel("Stays at least")).toHaveValue("40");
  await accessible(page);
  await form(page).getByRole("button", { name: "Run", exact: true }).click();
  const verdict = page.getByRole("region", { name: "Hypotheses" });
  await expect(verdict.getByText("ABT at least 40 % of baseline")).toBeVisible({ timeout: 20_000 });
  await expect(verdict.getByText("Met", { exact: true })).toHaveCount(3);
  await accessible(page);
  await page.getByRole("button", { name: "Download" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: /Scenario, YAML/ }).click();
  const saved = await readFile((await (await download).path())!, "utf8");
  expect(saved).toContain("metric: abt-share, bound: 0.4");
});

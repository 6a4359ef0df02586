import type { Page } from "@playwright/test";
import { accessible, expect, openPlan, test, total } from "./page";

const TOPOLOGY = { family: "dcell", n: 4, k: 1 };
const section = (page: Page) => page.getByTestId("failures");
const gbps = (value: number): string =>
  `${new Intl.NumberFormat("en", { maximumFractionDigits: 2 }).format(value)} Gb/s`;

test("the failure slider tells what the API predicts, of the plan and of a fat-tree of as many servers", async ({
  page,
}) => {
  const predict = async (plan: object, faults: object[], link_gbps?: number) => {
    const data = { plan, workload: { kind: "all-to-all" }, faults, max_min: false, seed: 7, link_gbps };
    const answer = await page.request.post("/api/v1/predict", { data });
    expect(answer.status()).toBe(200);
    return answer.json();
  };
  await openPlan(page, `/plans/new?topology=${encodeURIComponent(JSON.stringify(TOPOLOGY))}`);
  await expect(total(page, "servers")).toHaveText("20");
  const plan = { topology: TOPOLOGY };
  const faults = [{ target: { kind: "server", ratio: 0.15 } }];
  const own = await predict(plan, faults);
  const { spec, servers } = await (await page.request.get("/api/v1/predict/reference?servers=20")).json();
  expect(servers).toBeGreaterThanOrEqual(20);
  const other = await predict(spec, faults, own.link_gbps.max);

  await page.getByLabel("What fails").selectOption("server");
  await page.getByLabel("Share that failed").fill("0.15");
  await expect(section(page)).toContainText(`This plan`);
  await expect(section(page)).toContainText(gbps(own.abt_gbps));
  await expect(section(page)).toContainText(gbps(other.abt_gbps));
  await expect(section(page)).toContainText("3 servers failed");
  await expect(section(page)).not.toContainText("≈");
  await accessible(page);

  await page.getByLabel("What fails").selectOption("rack");
  // All devices of this plan are in one rack.
  await expect(section(page)).toContainText("20 servers, 5 switches failed");
  await expect(section(page)).toContainText("0 Gb/s");
});

test("a larger plan is computed again when it changes, and the share stays", { tag: "@long" }, async ({ page }) => {
  await openPlan(
    page,
    `/plans/new?topology=${encodeURIComponent(JSON.stringify({ family: "bcube", n: 4, k: 1 }))}`,
  );
  await page.getByLabel("Share that failed").fill("0.2");
  await expect(section(page)).toContainText("2 switches failed");
  await page
    .locator("[data-plan-fields]")
    .getByLabel(/^Levels above level 0/)
    .fill("2");
  await expect(section(page)).toContainText("10 switches failed");
  await expect(page.getByLabel("Share that failed")).toHaveValue("0.2");
});

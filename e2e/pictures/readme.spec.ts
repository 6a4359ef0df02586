import { fileURLToPath } from "node:url";
import { expect, openPlan, test } from "../journeys/page";

const API = "/api/v1";
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

test("the plan of the paper's container", async ({ page }) => {
  await openPlan(page);
  await page.mouse.move(0, 0);
  await page.screenshot({ path: file("plan.png") });
});

test("a cable is pulled while sixteen servers send to each other", async ({ page, request }) => {
  test.setTimeout(90_000);
  const asked = await request.post(`${API}/experiments`, {
    data: {
      plan: { topology: { family: "bcube", n: 4, k: 1 } },
      workload: { kind: "all-to-all" },
      engine: "emulation",
      link_gbps: 0.05,
      faults: [{ kind: "cable-pulled", target: { names: ["00/<0,0>"] }, at_secs: 8, until_secs: 16 }],
      emulation: { mode: "namespaces", seconds: 24 },
    },
  });
  const experiment = ((await asked.json()) as { id: string }).id;
  const run = (await (await request.post(`${API}/experiments/${experiment}/runs`)).json()) as { id: string };
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`/runs/${run.id}`);
  const clock = page.getByTestId("clock");
  await expect.poll(async () => Number.parseFloat((await clock.textContent()) ?? ""), { timeout: 60_000 }).toBeGreaterThan(11);
  await page.screenshot({ path: file("session.png") });
});

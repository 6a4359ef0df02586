import type { Page } from "@playwright/test";
import { startEngine } from "../docker";
import { accessible, expect, test as base } from "../page";
import { type Running, startServer } from "../server";

// A separate server with access to a Docker engine: terminals run in containers.
const test = base.extend<object, { server: Running }>({
  server: [
    async ({}, use, { workerIndex }) => {
      const engine = await startEngine();
      const server = await startServer(`terminals${workerIndex}`, engine.address ? { DOCKER_HOST: engine.address } : {});
      await use(server);
      await server.stop();
      await engine.stop();
    },
    { scope: "worker", timeout: 240_000 },
  ],
});

const LINK = "00/<0,0>";
const ASKED = {
  plan: { family: "bcube", n: 2, k: 1 },
  workload: { kind: "all-to-all" },
  engine: "emulation",
  link_gbps: 0.005,
  seeds: [7],
  // Longer than needed: the journey ends the run, however slow the machine is.
  emulation: { mode: "containers", seconds: 280, settle_secs: 0.5, calibrate_secs: 0 },
};

async function startRun(page: Page): Promise<string> {
  const made = await page.request.post("/api/v1/experiments", { data: ASKED });
  expect(made.status(), await made.text()).toBe(201);
  const { id } = (await made.json()) as { id: string };
  const run = await page.request.post(`/api/v1/experiments/${id}/runs`, { data: {} });
  return ((await run.json()) as { id: string }).id;
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

test("a shell in a server pings another one, and a link's packets are counted as they flow", { tag: "@long" }, async ({ page, quiet }, info) => {
  const machine = (await (await page.request.get("/api/v1/emulation")).json()) as { modes: string[] };
  test.skip(
    !machine.modes.includes("containers") && !process.env["CI"],
    "This machine cannot run servers as containers: GET /api/v1/emulation says what is missing.",
  );
  test.setTimeout(280_000);
  // A refused filter is a 422, which the browser writes into its console.
  quiet.expectErrors();
  const run = await startRun(page);
  await page.goto(`/runs/${run}?sel=server:00`);
  const phases = page.getByRole("list", { name: "Phases of the session" });
  await expect(phases.locator("[aria-current=step]")).toHaveText("Measuring", { timeout: 120_000 });

  // Opened by keyboard: the shell gets the focus once it exists.
  const inspector = page.getByTestId("inspector");
  const section = inspector.getByRole("region", { name: "Terminal in this server" });
  const open = section.getByRole("button", { name: "Open a terminal" });
  await expect(open).toBeEnabled();
  await open.press("Enter");
  const dock = page.getByRole("region", { name: "Terminals" });
  await expect(dock.getByText("Shell started.")).toBeVisible();
  const screen = dock.getByTestId("terminal").filter({ visible: true });
  const rows = screen.locator(".xterm-rows");
  await expect(rows).toContainText("h00:/#");
  await expect(screen.getByRole("textbox", { name: "Shell of server 00" })).toBeFocused();
  await page.keyboard.type("ip addr show lo\n");
  await expect(rows).toContainText("LOOPBACK");
  await page.keyboard.type("clear; ping -c 2 -i 0.3 10.0.0.4\n");
  await expect(rows).toContainText("2 packets transmitted, 2 received");
  await looks(page, info.outputPath.bind(info), "terminal");
  const close = dock.getByRole("button", { name: "Close the terminal" }).filter({ visible: true });
  await page.keyboard.press("Control+Shift+Escape");
  await expect(close).toBeFocused();

  // It keeps running while another server is selected, which gets a second terminal; its tab leads
  // back.
  await screen.click();
  await page.keyboard.type("clear; sleep 1; echo still-$((40+2))\n");
  await inspector.getByRole("button", { name: "01", exact: true }).first().click();
  await expect(inspector.getByRole("heading", { name: "server 01" })).toBeVisible();
  await section.getByRole("button", { name: "Open a terminal" }).click();
  await expect(dock.getByRole("tab")).toHaveText(["00", "01"]);
  await expect(rows).toContainText("h01:/#");
  await dock.getByRole("tab", { name: "00" }).click();
  await expect(rows).toContainText("still-42");
  await looks(page, info.outputPath.bind(info), "terminals");
  await dock.getByRole("tab", { name: "01" }).click();
  await close.click();
  await expect(dock.getByRole("tab")).toHaveText(["00"]);
  await expect(rows).toContainText("still-42");

  // On a phone the terminal is as wide as the screen, and the shell has that width.
  await page.setViewportSize({ width: 390, height: 844 });
  await screen.scrollIntoViewIfNeeded();
  const box = (await screen.boundingBox())!;
  expect(box.x >= 0 && box.x + box.width <= 390).toBe(true);
  await page.screenshot({ path: info.outputPath("terminal-phone.png") });
  await page.setViewportSize({ width: 1440, height: 900 });
  await screen.click();
  await page.keyboard.type("exit 3\n");
  await expect(dock.getByText("The shell has ended. Exit status 3.")).toBeVisible();
  await dock.getByRole("button", { name: "Open again" }).click();
  await expect(dock.getByText("Shell started.")).toBeVisible();
  await expect(rows).toContainText("h00:/#");
  await close.click();
  await expect(dock).toHaveCount(0);

  // A link's packets while they flow.
  await page.goto(`/runs/${run}?sel=${encodeURIComponent(`link:${LINK}`)}`);
  await inspector.getByRole("button", { name: "Watch live" }).click();
  const live = inspector.getByRole("region", { name: `Live packets of ${LINK}` });
  const counted = async () => Number((await live.getByTestId("packet-count").locator("strong").textContent())!.replace(/\D/g, ""));
  await expect.poll(counted).toBeGreaterThan(50);
  const list = live.getByRole("region", { name: `Latest packets of ${LINK}` });
  await expect(list).toContainText(/TCP \d+ → \d+, .*BCube source routing/);
  // The servers' own header, field by field.
  await expect(list.getByRole("list", { name: "Header of the relaying servers" }).first()).toContainText(/Next hop \d.*Path id \d/);
  await expect(live).toContainText(`bin/cubeyard capture ${run} --link '${LINK}' -w - | wireshark -k -i -`);
  await looks(page, info.outputPath.bind(info), "packets");
  await live.getByLabel("Show").selectOption("control");
  await expect(list).toContainText("Control message between neighbours");
  await expect(list).not.toContainText("TCP");
  await live.getByLabel("From or to").fill("nobody");
  await live.getByRole("button", { name: "Apply filter" }).click();
  await expect(live.getByRole("status")).toContainText("nobody is neither a server of this run nor an IPv4 address");
  await live.getByLabel("From or to").fill("01");
  await live.getByRole("button", { name: "Apply filter" }).click();
  await expect.poll(counted).toBeGreaterThan(3);
  await live.getByRole("button", { name: "Stop" }).click();
  await expect(live.getByRole("status")).toHaveText("Stopped.");
  const stopped = await counted();
  await page.setViewportSize({ width: 390, height: 844 });
  await list.scrollIntoViewIfNeeded();
  await page.screenshot({ path: info.outputPath("packets-phone.png") });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  expect(await counted()).toBe(stopped);
  await page.setViewportSize({ width: 1440, height: 900 });
  await live.getByRole("button", { name: "Close" }).click();
  await expect(live).toHaveCount(0);
  await page.getByRole("button", { name: "End run" }).click();
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over", { timeout: 60_000 });
});

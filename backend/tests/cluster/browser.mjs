// Cubeyard in Chromium on the cluster: log in with the token, compose an emulation of servers as
// pods, see it live, read its verdict. Told on standard input where it is; says on standard output
// what it saw.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const { chromium } = createRequire(join(process.cwd(), "package.json"))("playwright-core");
const told = JSON.parse(readFileSync(0, "utf8"));
const base = `http://${told.host}`;
const browser = await chromium.launch({
  executablePath: told.chromium,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
    `--host-resolver-rules=MAP ${told.host} ${new URL(told.address).hostname}`,
  ],
});
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  page.setDefaultTimeout(60_000);
  const errors = [];
  page.on("console", (message) => {
    // Network interfaces come and go on the machine: the page asks again. And there is no TLS here,
    // which one header wants.
    const expected = /ERR_NETWORK_CHANGED|Cross-Origin-Opener-Policy header has been ignored/;
    if (message.type() === "error" && !expected.test(message.text()))
      errors.push(`${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(`${base}/experiments?engine=emulation`);
  await page.getByLabel("API token").fill(told.token);
  await page.keyboard.press("Enter");
  const form = page.getByRole("form", { name: "New experiment" });
  await form.waitFor();
  const machine = await page.evaluate(async () => (await fetch("/api/v1/emulation")).json());
  await form.getByLabel("Run servers as").selectOption("containers");
  await form.getByLabel("Link rate").fill("5");
  await form.getByLabel("Measure for").fill("8");
  await form.getByLabel("Settle for").fill("1");
  await form.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/\/runs\/\w+$/);
  const run = /runs\/(\w+)/.exec(page.url())[1];
  const phase = page.getByRole("list", { name: "Phases of the session" }).locator("[aria-current=step]");
  await phase.filter({ hasText: "Measuring" }).waitFor();
  await page.screenshot({ path: join(told.folder, "live.png") });
  const verdict = page.getByTestId("verdict");
  await verdict.filter({ hasText: /faithful|host-limited|emulator-limited/ }).waitFor();
  await page.screenshot({ path: join(told.folder, "over.png") });
  const said = { run, nodes: machine.hosts.map(({ name }) => name), verdict: await verdict.innerText(), errors };
  process.stdout.write(JSON.stringify(said));
} finally {
  await browser.close();
}

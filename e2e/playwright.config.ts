import { existsSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "@playwright/test";

// The real program with a database of its own, serving the built page: nothing is faked. Another server can be tested by
// naming it in CUBEYARD_E2E_URL.
const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const port = Number(process.env.CUBEYARD_E2E_PORT ?? 8197);
const given = process.env.CUBEYARD_E2E_URL;
const url = given ?? `http://127.0.0.1:${port}`;

if (!given && !existsSync(join(root, "frontend/dist/index.html")))
  throw new Error("The page is not built: run `npm run build` in frontend first.");

// Every run begins with an empty database. Workers load this file too: only the first process clears the folder.
const home = join(root, "e2e/.home");
if (!given && process.env.CUBEYARD_E2E_STARTED === undefined) {
  rmSync(home, { recursive: true, force: true });
  process.env.CUBEYARD_E2E_STARTED = "1";
}

export default defineConfig({
  testDir: "journeys",
  outputDir: "test-results",
  timeout: 60_000,
  expect: { timeout: 15_000 },
  // One at a time: two cores, a browser that paints in software and a server that should not be measured under load.
  workers: 1,
  fullyParallel: false,
  forbidOnly: Boolean(process.env.CI),
  reporter: [["list"]],
  use: {
    baseURL: url,
    viewport: { width: 1440, height: 900 },
    colorScheme: "light",
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
    trace: "retain-on-failure",
    launchOptions: {
      executablePath: process.env.CUBEYARD_CHROMIUM || "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"],
    },
  },
  webServer: given
    ? undefined
    : {
        command: `"${join(root, "backend/.venv/bin/cubeyard")}" run --port ${port}`,
        url: `${url}/healthz`,
        timeout: 120_000,
        gracefulShutdown: { signal: "SIGTERM", timeout: 20_000 },
        env: { CUBEYARD_HOME: home, CUBEYARD_LOG_LEVEL: "warning" },
      },
});

import { cpus } from "node:os";
import { defineConfig } from "@playwright/test";

// Nothing is mocked: each worker starts the real program with a separate database
// (journeys/server.ts). To test another server, set CUBEYARD_E2E_URL.
const given = process.env.CUBEYARD_E2E_URL !== undefined;

/** Journeys that measure what the page does: after the others. */
const alone = /\/12-budgets\.spec\.ts$/;
/** Journeys with real packets, which change the machine's network interfaces: one at a time. */
const live = /\/live\//;

export default defineConfig({
  testDir: "journeys",
  outputDir: "test-results",
  timeout: 120_000, // limits, not aims: two browsers share two cores here
  expect: { timeout: 30_000 },
  // A browser that paints in software and a server keep a core busy. Journeys of one file share a
  // server, in their order.
  workers: given ? 1 : Math.min(cpus().length, 4),
  fullyParallel: false,
  forbidOnly: Boolean(process.env.CI),
  // In CI, a failed journey is repeated once with a new server, and the summary names it as flaky.
  retries: process.env.CI ? 1 : 0,
  reporter: [["list"], ["./failures.ts"]],
  projects: [
    { name: "together", testIgnore: [alone, live] },
    { name: "alone", testMatch: alone, dependencies: ["together"], workers: 1 },
    { name: "live", testMatch: live, dependencies: ["together"], workers: 1 },
  ],
  use: {
    viewport: { width: 1440, height: 900 },
    colorScheme: "light",
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
    // A recording takes as much of the processors as the journey itself:
    // `npx playwright test NAME --trace on` makes one.
    trace: "off",
    launchOptions: {
      executablePath: process.env.CUBEYARD_CHROMIUM || "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"],
    },
  },
});

/**
 * Shared by all journeys: a page that fails the test on any error in its console, and locators of
 * its parts.
 */
import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Locator, type Page } from "@playwright/test";
import { type Running, startServer } from "./server";

export const test = base.extend<{ quiet: { expectErrors: () => void } }, { server: Running }>({
  // One for all journeys of a worker: they find what earlier ones have left, as in a server that
  // people use.
  server: [
    async ({}, use, { workerIndex }) => {
      const server = await startServer(`worker${workerIndex}`);
      await use(server);
      await server.stop();
    },
    { scope: "worker", timeout: 180_000 },
  ],
  baseURL: async ({ server }, use) => use(server.url),

  // Automatic: a console error or an uncaught exception fails the journey, unless the journey
  // expects one.
  quiet: [
    async ({ page }, use) => {
      const errors: string[] = [];
      let expected = false;
      page.on("console", (message) => {
        // Chromium aborts requests when a network interface appears or disappears on the machine,
        // as with emulations in parallel. The page repeats the request; if it does not, the missing
        // data fails the journey.
        if (message.type() === "error" && !message.text().includes("ERR_NETWORK_CHANGED"))
          errors.push(`${message.text()} (${message.location().url})`);
      });
      page.on("pageerror", (error) => errors.push(String(error)));
      await use({
        expectErrors: () => {
          expected = true;
        },
      });
      if (!expected) expect(errors, "errors in the console").toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** Opens a plan page and waits until its plan is drawn. */
export async function openPlan(page: Page, path = "/"): Promise<void> {
  await page.goto(path);
  await drawn(page);
}

export async function drawn(page: Page): Promise<void> {
  await expect(page.getByTestId("ready")).toHaveText(/^Planned in/);
}

export const total = (page: Page, id: string): Locator => page.locator(`[data-total="${id}"]`);

export const field = (page: Page, label: string): Locator =>
  page
    .locator("[data-plan-fields]")
    .getByLabel(new RegExp(`^${label}( [A-Za-z]+)?\\s*(\\(changed\\))?\\s*$`));

export const grid = (page: Page): Locator => page.getByRole("grid");

/** Types a number over what the field holds. */
export async function fill(page: Page, label: string, value: string): Promise<void> {
  const input = field(page, label);
  await input.click();
  await input.fill(value);
}

/** How many different colours the plan's canvas shows: a blank one has at most two. */
export async function colours(page: Page): Promise<number> {
  return page.evaluate(() => {
    const seen = new Set<number>();
    for (const canvas of document.querySelectorAll<HTMLCanvasElement>("[data-testid=plan-canvas] canvas")) {
      const context = canvas.getContext("2d");
      if (!context || canvas.width === 0) continue;
      const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
      const pixels = new Uint32Array(data.buffer);
      for (let at = 0; at < pixels.length; at += 7) if (pixels[at]! >>> 24 > 200) seen.add(pixels[at]!);
    }
    return seen.size;
  });
}

/** No violation of WCAG 2.2 A and AA that axe can find. */
export async function accessible(page: Page, without: string[] = []): Promise<void> {
  // Only violations are read: without this, axe writes down a selector of every element that passes
  // every rule, which takes most of its time. Its default mode opens a blank page for each
  // analysis, for frames of other origins, of which there are none.
  const { violations } = await new AxeBuilder({ page })
    .options({ resultTypes: ["violations"] })
    .setLegacyMode()
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
    .disableRules(without)
    .analyze();
  const told = violations.map(
    (v) =>
      `${v.id} (${v.impact}): ${v.help}\n${v.nodes.map((n) => `  ${n.target.join(" ")}: ${n.failureSummary}`).join("\n")}`,
  );
  expect(told.join("\n\n")).toBe("");
}

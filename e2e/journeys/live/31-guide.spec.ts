import { guide, pointsAt } from "../guide";
import { expect, openPlan, test } from "../page";

test("the last step pulls a cable of a live run, and the guide says where to click", { tag: "@long" }, async ({ page }, info) => {
  const machine = (await (await page.request.get("/api/v1/emulation")).json()) as { ready: boolean; modes: string[] };
  test.skip(!machine.ready && !process.env["CI"], "This machine cannot send real packets: GET /api/v1/emulation says what is missing.");
  test.setTimeout(180_000);
  await page.addInitScript(() => localStorage.setItem("cubeyard.guide", JSON.stringify({ at: 3, closed: false })));
  await openPlan(page, '/plans/new?topology={"family":"bcube","n":4,"k":1}');
  const emulate = page.getByRole("button", { name: "Emulate", exact: true });
  await pointsAt(page, emulate);
  await emulate.click();
  const form = page.getByRole("form", { name: "New experiment" });
  if (machine.modes.includes("namespaces")) await form.getByLabel("Run servers as").selectOption("namespaces");
  await form.getByLabel("Link rate").fill("20");
  // Longer than needed: the journey ends the run, however slow the machine is.
  await form.getByLabel("Measure for").fill("150");
  const run = form.getByRole("button", { name: "Run", exact: true });
  await expect(run).toBeEnabled();
  await pointsAt(page, run);
  await page.screenshot({ path: info.outputPath("run.png") });
  await run.click();

  // From the run on, each control that is needed is pointed at once it can be used.
  await expect(guide(page).locator("[aria-current='step']")).toHaveText("Pull a cable");
  const inject = page.getByLabel("Inject faults");
  await expect(guide(page).getByRole("status")).toContainText("Turn on “Inject faults”");
  await expect(inject).toBeEnabled({ timeout: 60_000 });
  await pointsAt(page, page.getByText("Inject faults", { exact: true }));
  await page.screenshot({ path: info.outputPath("mode.png") });
  await inject.check();
  await expect(guide(page).getByRole("status")).toContainText("Click a cable in the picture");
  await pointsAt(page, page.getByRole("button", { name: "Choose a cable with traffic" }));
  const box = (await page.getByTestId("live-canvas").boundingBox())!;
  await page.mouse.click(box.x + box.width * 0.112, box.y + box.height * 0.61);
  const chosen = page.getByRole("form", { name: "Inject a fault" }).getByRole("button", { name: "Inject fault" });
  await expect(chosen).toBeEnabled();
  await pointsAt(page, chosen);
  await page.screenshot({ path: info.outputPath("inject.png") });
  await chosen.click();
  await expect(guide(page).getByRole("status")).toContainText("That is the whole way");
  await expect(guide(page).locator("[aria-current='step']")).toHaveCount(0);
  await page.screenshot({ path: info.outputPath("over.png") });
  await expect(page.getByRole("region", { name: "Faults" })).toContainText("Cable unplugged");
  await page.getByRole("button", { name: "End run" }).click();
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over", { timeout: 60_000 });
});

test("the guide follows who goes to Emulate at once, from a plan of 2,048 servers, to a cable of its part", { tag: "@long" }, async ({ page }) => {
  const machine = (await (await page.request.get("/api/v1/emulation")).json()) as { ready: boolean; modes: string[] };
  test.skip(!machine.ready && !process.env["CI"], "This machine cannot send real packets: GET /api/v1/emulation says what is missing.");
  test.setTimeout(180_000);
  await page.addInitScript(() => localStorage.setItem("cubeyard.guide", JSON.stringify({ at: 0, closed: false })));
  await openPlan(page, '/plans/new?topology={"family":"torus2d","x":64,"y":32}');
  await page.getByRole("button", { name: "Emulate", exact: true }).click();
  const form = page.getByRole("form", { name: "New experiment" });
  await expect(page.getByTestId("taken")).toContainText("instead of 2,048");
  await expect(guide(page).locator("[aria-current='step']")).toHaveText("Emulate");
  if (machine.modes.includes("namespaces")) await form.getByLabel("Run servers as").selectOption("namespaces");
  await form.getByLabel("Link rate").fill("2");
  await form.getByLabel("Measure for").fill("150");
  const run = form.getByRole("button", { name: "Run", exact: true });
  await expect(run).toBeEnabled();
  await pointsAt(page, run);
  await run.click();
  await expect(guide(page).locator("[aria-current='step']")).toHaveText("Pull a cable");
  await expect(guide(page).getByRole("status")).toContainText("The servers are starting");
  const inject = page.getByLabel("Inject faults");
  await expect(inject).toBeEnabled({ timeout: 90_000 });
  await inject.check();
  await page.getByRole("button", { name: "Choose a cable with traffic" }).click();
  const chosen = page.getByRole("form", { name: "Inject a fault" }).getByRole("button", { name: "Inject fault" });
  await expect(chosen).toBeEnabled();
  await chosen.click();
  await expect(page.getByRole("region", { name: "Faults" })).toContainText("Cable unplugged");
  await expect(guide(page).locator("[aria-current='step']")).toHaveCount(0);
  await page.getByRole("button", { name: "End run" }).click();
  await expect(page.getByTestId("feed")).toHaveAttribute("data-feed", "over", { timeout: 60_000 });
});

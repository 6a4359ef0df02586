import { readFileSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import type { Locator } from "@playwright/test";
import { accessible, expect, test } from "../page";

const TORUS = { topology: { family: "torus3d", x: 3, y: 3, z: 3 } };
const GREETING = new URL("../../../backend/cubeyard/cli/service_templates/greeting.wat", import.meta.url);

/** Files dropped on an element. */
async function drop(target: Locator, name: string, content: string): Promise<void> {
  const files = await target.page().evaluateHandle(
    ([title, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text!], title!));
      return transfer;
    },
    [name, content],
  );
  for (const event of ["dragenter", "dragover", "drop"]) await target.dispatchEvent(event, { dataTransfer: files });
}

test("a service from a file is checked by field, runs on twenty-seven servers and shows what it counts", async ({
  page,
  quiet,
}, info) => {
  const machine = (await (await page.request.get("/api/v1/emulation")).json()) as { ready: boolean; modes: string[] };
  test.skip(
    !machine.ready && !process.env["CI"],
    "This machine cannot send real packets: GET /api/v1/emulation says what is missing.",
  );
  test.setTimeout(120_000);
  // A refused estimate is a 422, which the browser writes into its console.
  quiet.expectErrors();
  const code = deflateRawSync(JSON.stringify(TORUS)).toString("base64url");
  await page.goto(`/experiments?engine=emulation&plan=z.1${code}`);
  const form = page.getByRole("form", { name: "New experiment" });
  await form
    .getByLabel("Run servers as")
    .selectOption(machine.modes.includes("namespaces") ? "namespaces" : machine.modes[0]!);
  await form.getByLabel("Workload").selectOption("permutation");
  await form.getByLabel("Link rate").fill("5");
  await form.getByLabel("Measure for").fill("100");
  await form.getByLabel("Settle for").fill("1");

  // The page refuses a file that is no module; the server refuses a module that lacks an export.
  const services = form.getByRole("group", { name: "Services of your own" });
  const file = services.getByLabel(/^Add (a|or replace a) service/);
  await file.setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("notes") });
  await expect(services.getByRole("alert")).toContainText("Choose a .wasm file");
  await file.setInputFiles({ name: "greeting.wat", mimeType: "text/plain", buffer: Buffer.from("(module)") });
  await expect(services.getByRole("alert")).toContainText("does not export its memory");
  await expect(form.getByRole("button", { name: "Run", exact: true })).toBeDisabled();
  await page.screenshot({ path: info.outputPath("refused.png") });

  // Built again and dropped: a file of the same name replaces it.
  await drop(services, "greeting.wat", readFileSync(GREETING, "utf8"));
  await expect(services.getByRole("alert")).toHaveCount(0);
  await expect(services.getByRole("group", { name: "greeting" })).toContainText("KB module");
  await services.getByLabel("Name").fill("cache");
  await expect(services).toContainText("There is a service cache already.");
  await services.getByLabel("Name").fill("hello");
  await expect(page.locator("[data-stale=true]")).toHaveCount(0);
  await expect(page.getByText(/Drop a scenario/)).toHaveCount(0);
  await accessible(page);
  await page.screenshot({ path: info.outputPath("form.png") });
  await form.getByRole("button", { name: "Run", exact: true }).click();
  const phases = page.getByRole("list", { name: "Phases of the session" });
  await expect(phases.locator("[aria-current=step]")).toHaveText("Measuring", { timeout: 60_000 });

  // Every server's instance sends a greeting to one key: they arrive there, are shown and counted.
  await page.goto(`${page.url()}?sel=server:${encodeURIComponent("(1,1,1)")}`);
  const inspector = page.getByTestId("inspector");
  await inspector.getByLabel("Service", { exact: true }).selectOption("hello");
  await inspector.getByLabel("Message", { exact: true }).fill("1,1,1 to all of you");
  await inspector.getByLabel("Send to").selectOption("every");
  await inspector.getByRole("button", { name: "Send message" }).click();
  const answers = inspector.getByTestId("service-talk").locator("li[data-kind=answer]");
  await expect(answers).toHaveCount(27, { timeout: 20_000 });
  await expect(answers.first()).toContainText("to all of you");
  const counters = inspector.getByRole("table", { name: "Counters of the service on this server" });
  await expect(counters.getByRole("row", { name: /^packets delivered/ })).toContainText("27");
  await page.screenshot({ path: info.outputPath("live.png") });
  await page.getByRole("button", { name: /^(Cancel|End run)/ }).first().click();
});

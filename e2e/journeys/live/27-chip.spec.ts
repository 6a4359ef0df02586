import { readFileSync } from "node:fs";
import { accessible, expect, test } from "../page";

test("a program from a file runs in the chips of sixteen servers, and another one is committed while packets flow", { tag: "@long" }, async ({
  page,
  quiet,
}, info) => {
  const machine = (await (await page.request.get("/api/v1/emulation")).json()) as { ready: boolean; modes: string[] };
  test.skip(
    !machine.ready && !process.env["CI"],
    "This machine cannot send real packets: GET /api/v1/emulation says what is missing.",
  );
  test.setTimeout(240_000);
  const file = new URL("../../../emulator/crates/chip/programs/bcube.chip", import.meta.url);
  const typed = `// Typed by hand.\n${readFileSync(file, "utf8")}`;

  await page.goto("/experiments?engine=emulation");
  const form = page.getByRole("form", { name: "New experiment" });
  await form
    .getByLabel("Run servers as")
    .selectOption(machine.modes.includes("namespaces") ? "namespaces" : machine.modes[0]!);
  await form.getByLabel("Forwarding").selectOption("serverswitch");
  await form.getByLabel("Link rate").fill("10");
  await form.getByLabel("Measure for").fill("100");
  await form.getByLabel("Settle for").fill("1");
  await form.getByLabel("Chip program").selectOption("own");
  const program = form.getByLabel("Program of every server’s chip");
  await form
    .getByLabel("Load a program file")
    .setInputFiles({ name: "mine.chip", mimeType: "text/plain", buffer: Buffer.from(typed) });
  await expect(program).toHaveValue(typed);
  await expect(form.getByText("60 of 2,048 TCAM entries, 6 interfaces")).toBeVisible();

  // A mistake is named with its line before anything starts.
  quiet.expectErrors();
  await program.fill(`${typed}\nSetVIfTable(1, dstmac[0x63], NULL, 0);`);
  await expect(form.getByRole("list", { name: "Mistakes" })).toContainText("Line 51, column 16");
  await accessible(page);
  await program.fill(typed);
  await expect(form.getByRole("list", { name: "Mistakes" })).toHaveCount(0);
  await expect(page.locator("[data-stale=true]")).toHaveCount(0);
  await page.screenshot({ path: info.outputPath("form.png") });
  await form.getByRole("button", { name: "Run", exact: true }).click();
  const phases = page.getByRole("list", { name: "Phases of the session" });
  // The kernel verifies the chip's program for each server.
  await expect(phases.locator("[aria-current=step]")).toHaveText("Measuring", { timeout: 120_000 });

  // A server shows the entries that decide, and the program, which is changed while packets flow.
  await page.goto(`${page.url()}?sel=server:00`);
  const inspector = page.getByTestId("inspector");
  await expect(inspector).toContainText("REDIRECT_VIF");
  await inspector.getByText("Show and change it").click();
  const running = inspector.getByRole("textbox", { name: /^A commit replaces it/ });
  await expect(running).toHaveValue(typed);
  await running.fill("SetUDLK(1, (B14));\nSetLookupTable(TCAM, 7, 1, 0x45, NULL, {act=DISCARD});\n");
  await inspector.getByRole("button", { name: "Commit to all servers" }).click();
  await expect(inspector.getByText(/^16 servers, [\d.]+ ms$/)).toBeVisible();
  await expect(inspector.getByRole("cell", { name: "DISCARD", exact: true })).toBeVisible();
  await running.fill("SetUDLK(");
  await inspector.getByRole("button", { name: "Commit to all servers" }).click();
  await expect(inspector.getByRole("alert")).toContainText("Line 1, column 9");
  await page.screenshot({ path: info.outputPath("live.png") });
  await page.getByRole("tab", { name: /^Events/ }).click();
  await expect(page.getByRole("log", { name: "Events" })).toContainText("Program committed");
  await page.getByRole("button", { name: /^(Cancel|End run)/ }).first().click();
});

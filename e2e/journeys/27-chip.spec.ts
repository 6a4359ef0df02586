import { accessible, expect, test } from "./page";

test("a packet is stepped through a program of the chip, and mistakes are named with their lines", async ({
  page,
  quiet,
}) => {
  await page.goto("/chip");
  const outcome = page.getByRole("region", { name: "Path of the packet" }).getByRole("status");
  const steps = page.getByRole("list", { name: "Steps" });
  await expect(steps).toContainText("TCAM[25] decides");
  await expect(outcome).toHaveText("Sent out of port 1 (external).");
  await expect(page.getByRole("img", { name: /TCAM, .*L2 modifier, Output/ })).toBeVisible();
  await accessible(page);

  // One byte changed without the checksum.
  await page.getByLabel("Example").selectOption("ipv4-routes");
  await expect(outcome).toHaveText("Sent out of port 2 (external).");
  const packet = page.getByRole("textbox", { name: /^Packet/ });
  const sent = await packet.inputValue();
  await packet.fill(`${sent.slice(0, 44)}01${sent.slice(46)}`);
  await expect(outcome).toContainText("checksum of the IPv4 header is wrong");

  quiet.expectErrors();
  const program = page.getByLabel("Program", { exact: true });
  await program.fill("SetUDLK(1, (B22));\nSetUDLK(3, (B23));\n");
  await page.getByRole("button", { name: "Line 2, column 9" }).click();
  await expect(program).toBeFocused();
  const selected = await program.evaluate((area: HTMLTextAreaElement) =>
    area.value.slice(area.selectionStart, area.selectionEnd),
  );
  expect(selected).toBe("SetUDLK(3, (B23));");
  await accessible(page);
});

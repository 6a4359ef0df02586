import type { Page } from "@playwright/test";
import { accessible, drawn, expect, openPlan, test } from "./page";

const GRAPHML = `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="g" for="edge" attr.name="gbps" attr.type="double"/>
  <graph edgedefault="undirected">
    <node id="n-a"/><node id="n-b"/><node id="n-c"/><node id="n-d"/><node id="mid"/>
    <node id="left"/><node id="right"/>
    <edge source="n-a" target="left"><data key="g">10</data></edge>
    <edge source="n-b" target="left"><data key="g">10</data></edge>
    <edge source="n-c" target="right"><data key="g">10</data></edge>
    <edge source="n-d" target="right"><data key="g">10</data></edge>
    <edge source="left" target="mid"><data key="g">40</data></edge>
    <edge source="right" target="mid"><data key="g">40</data></edge>
  </graph>
</graphml>`;
const LAB = `name: two-racks
topology:
  nodes:
    leaf1: {kind: nokia_srlinux}
    leaf2: {kind: nokia_srlinux}
    web1: {kind: linux}
    web2: {kind: linux}
  links:
    - endpoints: ["web1:eth1", "leaf1:e1-1"]
    - endpoints: ["web2:eth1", "leaf2:e1-1"]
    - endpoints: ["leaf1:e1-9", "leaf2:e1-9"]
`;

async function dropped(page: Page, name: string, text: string): Promise<void> {
  const data = await page.evaluateHandle(
    ([name, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text!], name!));
      return transfer;
    },
    [name, text],
  );
  await page.dispatchEvent("body", "dragenter", { dataTransfer: data });
  await page.dispatchEvent("body", "drop", { dataTransfer: data });
}

const dialog = (page: Page) => page.getByRole("dialog", { name: "Bring your own topology" });

test("a GraphML file is dropped, its rules are changed, and it is planned, saved and reloaded", async ({
  page,
}) => {
  await openPlan(page, "/");
  await dropped(page, "yard.graphml", GRAPHML);
  await expect(dialog(page)).toContainText("4 servers, 3 switches, 6 links");
  await expect(dialog(page)).toContainText("unclear, taken for switches: mid");
  await accessible(page);
  await dialog(page).getByLabel("Names of switches").fill("mid");
  await dialog(page).getByLabel("Names of switches").press("Enter");
  await expect(dialog(page)).toContainText("1 switch by your patterns: mid");
  await expect(dialog(page)).not.toContainText("unclear");
  await dialog(page).getByRole("button", { name: "Plan this network" }).click();
  await expect(page.getByRole("button", { name: "Plan: yard, not saved" })).toBeVisible();
  await drawn(page);
  await expect(page.getByText("4 servers, 3 switches, 6 links")).toBeVisible();
  await expect(page.getByRole("radio", { name: "Your own" })).toBeChecked();
  await accessible(page);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page).toHaveURL(/\/plans\/[0-9a-z]+/);
  await page.reload();
  await expect(page.getByText("4 servers, 3 switches, 6 links")).toBeVisible();
});

test("a containerlab file is planned and predicted", { tag: "@long" }, async ({ page }) => {
  await openPlan(page, "/");
  await page.getByRole("button", { name: "Your own…" }).click();
  await dialog(page)
    .getByLabel("Network file")
    .last()
    .setInputFiles({
      name: "lab.clab.yml",
      mimeType: "application/yaml",
      buffer: Buffer.from(LAB),
    });
  await expect(dialog(page)).toContainText("2 servers, 2 switches, 3 links");
  await expect(dialog(page)).toContainText("3 links without a rate: 10 Gb/s assumed.");
  await dialog(page).getByRole("button", { name: "Plan this network" }).click();
  await expect(page.getByRole("button", { name: "Plan: two-racks, not saved" })).toBeVisible();
  await drawn(page);
  await page.getByTitle("Predict throughput").click();
  await expect(page).toHaveURL(/\/experiments\?/);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page).toHaveURL(/\/runs\//);
  await expect(page.getByText("20 Gb/s").first()).toBeVisible();
});

test("a file that is no network is refused in words", { tag: "@long" }, async ({ page, quiet }) => {
  quiet.expectErrors();
  await openPlan(page, "/");
  await dropped(page, "broken.dot", "graph {\n a -- \n}");
  await expect(dialog(page)).toContainText("A name is expected");
  await accessible(page);
  await dialog(page).getByRole("button", { name: "Cancel" }).click();
  await expect(dialog(page)).toHaveCount(0);
});

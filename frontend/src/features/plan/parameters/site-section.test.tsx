import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { Finding } from "@/api/types";
import type { PlanSpec } from "@/shared/plans/spec";
import { wordsOf } from "./option-fields";
import { SiteSection } from "./site-section";

const finding = (where: string, message: string): Finding => ({
  severity: "error",
  code: "address",
  where,
  message,
  hint: "Give another.",
  line: 0,
  column: 0,
});

test("the site's addresses are fields of the form, each with its error", () => {
  const spec: PlanSpec = {
    topology: { family: "bcube" },
    site: { addresses: { servers: "10.20.0.0/28", dns: ["10.0.0.53", "x"], domain: "dc1.example.org" } },
  };
  const findings = [
    finding("site.addresses.servers", "The network is too small."),
    finding("site.addresses.dns[1]", "This is no address."),
  ];
  const page = renderToStaticMarkup(
    <SiteSection racks={[]} spec={spec} resolved={undefined} findings={findings} />,
  );
  for (const value of ["10.20.0.0/28", "10.0.0.53, x", "dc1.example.org"]) {
    expect(page).toContain(`value="${value}"`);
  }
  expect(page).toContain('placeholder="172.16.0.0"');
  expect(page).toContain("The network is too small. Give another.");
  expect(page).toContain("This is no address. Give another.");
});

test("a list is entered with commas or spaces", () => {
  expect(wordsOf(" 10.0.0.1,10.0.0.2  10.0.0.3, ")).toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  expect(wordsOf(" , ")).toBeUndefined();
});

import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { DOCUMENT_OF, DOCUMENTS, documentsOf, documentUrl } from "./documents";

test("each address is that of a document", () => {
  for (const { page } of [...DOCUMENTS, ...Object.values(DOCUMENT_OF)]) {
    const source = new URL(`../../../../docs/${page.replace(/index$/, "README")}.md`, import.meta.url);
    expect(existsSync(source), page).toBe(true);
  }
});

test("a page's own document is the first", () => {
  expect(documentUrl(documentsOf("/runs/01")[0]!)).toBe("/docs/explanation/live-runs.html");
  expect(documentUrl(documentsOf("/")[0]!)).toBe("/docs/tutorials/first-plan.html");
  expect(documentsOf("/plans/0a1b/crew")[0]!.page).toBe("how-to/as-built");
});

// Fails when the JavaScript the first page needs is over its budget. Reads
// dist/.vite/manifest.json: the entry, its static imports, and the route chunk of `/` with its
// static imports, since `/` opens on the plan page. CSS is printed beside it.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET_BYTES = 270 * 1024;
const FIRST_ROUTE = "src/features/plan/plan-page.tsx";
const dist = resolve(dirname(fileURLToPath(import.meta.url)), "../dist");
const manifest = JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8"));

const js = new Set();
const css = new Set();
function visit(key) {
  const chunk = manifest[key];
  if (!chunk) throw new Error(`${key} is not in the manifest: was the entry or the first route renamed?`);
  if (js.has(chunk.file)) return;
  js.add(chunk.file);
  for (const sheet of chunk.css ?? []) css.add(sheet);
  for (const next of chunk.imports ?? []) visit(next);
}
visit("index.html");
visit(FIRST_ROUTE);

const size = (file) => gzipSync(readFileSync(join(dist, file)), { level: 9 }).length;
const total = (files) => [...files].reduce((sum, file) => sum + size(file), 0);
for (const file of [...js, ...css].sort())
  console.log(`${(size(file) / 1024).toFixed(1).padStart(7)} KB  ${file}`);
const bytes = total(js);
console.log(
  `initial JS ${(bytes / 1024).toFixed(1)} KB gzipped of ${BUDGET_BYTES / 1024} KB; CSS ${(total(css) / 1024).toFixed(1)} KB`,
);
if (bytes > BUDGET_BYTES) {
  console.error("over budget: load more of the page lazily");
  process.exit(1);
}

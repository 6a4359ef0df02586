// Fails when src/api/schema.d.ts is not what openapi-typescript makes of src/api/openapi.json now.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const folder = mkdtempSync(join(tmpdir(), "cubeyard-api-"));
try {
  const fresh = join(folder, "schema.d.ts");
  execFileSync(
    process.execPath,
    [
      join(root, "node_modules/openapi-typescript/bin/cli.js"),
      join(root, "src/api/openapi.json"),
      "-o",
      fresh,
    ],
    { stdio: "pipe" },
  );
  if (readFileSync(fresh, "utf8") !== readFileSync(join(root, "src/api/schema.d.ts"), "utf8")) {
    console.error(
      "src/api/schema.d.ts has drifted from src/api/openapi.json: run `npm run api` and commit the result",
    );
    process.exitCode = 1;
  } else console.log("api: the generated types match openapi.json");
} finally {
  rmSync(folder, { recursive: true });
}

// Fails when a function of the page is longer than 100 lines, its signature and what it renders
// included. The linter's own rule (noExcessiveLinesPerFunction) does not count the lines of text in
// JSX, so that a component of 180 lines passes it. Exit code 1 and one line per function.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const MOST_LINES = 100;

/** Functions that may be longer, each with a reason. */
const ALLOWED = {
  "scene/testing/sample-plan.ts sampleBcube":
    "one literal document, column by column, that tests read as a whole",
};

function* sources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (/\.tsx?$/.test(entry.name) && !entry.name.endsWith(".d.ts")) yield path;
  }
}

/**
 * Every function below `root` that is longer than `most` lines, as `{name, lines}`; the name begins
 * with its file.
 */
export function longFunctions(root, most = MOST_LINES) {
  const functions = [];
  for (const file of sources(root)) {
    const kind = file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
    const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true, kind);
    const line = (at) => source.getLineAndCharacterOfPosition(at).line;
    const visit = (node) => {
      if (ts.isFunctionLike(node) && node.body) {
        const lines = line(node.end) - line(node.getStart()) + 1;
        const own = node.name ?? node.parent.name;
        const name = own && ts.isIdentifier(own) ? own.text : "(unnamed)";
        if (lines > most)
          functions.push({ name: `${relative(root, file).split(sep).join("/")} ${name}`, lines });
      }
      node.forEachChild(visit);
    };
    visit(source);
  }
  return functions;
}

/** What is wrong with long functions, in sentences. */
export function complaints(long, allowed = ALLOWED) {
  const wrong = long
    .filter(({ name }) => !(name in allowed))
    .map(({ name, lines }) => `${name}: ${lines} lines, at most ${MOST_LINES}; split it by what it does`);
  const names = new Set(long.map(({ name }) => name));
  for (const name of Object.keys(allowed))
    if (!names.has(name)) wrong.push(`${name}: it is short now, or gone: remove it from check-functions.mjs`);
  return wrong;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = join(dirname(fileURLToPath(import.meta.url)), "../src");
  const wrong = complaints(longFunctions(root));
  for (const line of wrong) console.error(line);
  if (wrong.length > 0) process.exit(1);
  console.log(
    `functions: none is longer than ${MOST_LINES} lines but ${Object.keys(ALLOWED).length} with a reason`,
  );
}

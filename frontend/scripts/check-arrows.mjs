// Fails when an import points against the house's arrows:
//   app -> features -> shared -> {ui, charts, render} -> scene -> units
// Only app, features and shared call api. Features never import each other, and a folder of shared
// imports only those listed for it.
// Exit code 1 and one line per wrong import. Tests of a folder obey the same arrows.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ALLOWED = {
  units: [],
  api: [],
  scene: ["units"],
  ui: ["units", "scene"],
  charts: ["units", "scene"],
  render: ["units", "scene"],
  shared: ["ui", "charts", "render", "scene", "units", "api"],
  features: ["shared", "ui", "charts", "render", "scene", "units", "api"],
  app: ["features", "shared", "ui", "charts", "render", "scene", "units", "api"],
};
/** By folder in shared: the other folders there that it may import. */
const SHARED = {
  plans: [],
  server: ["plans"],
  faults: [],
  notes: [],
  chip: [],
  shell: ["plans", "server"],
  runs: ["plans", "server", "shell"],
  answers: ["server", "shell"],
};

const IMPORT =
  /(?:import|export)\s[^'"`;]*?from\s*["']([^"']+)["']|import\s*\(\s*["']([^"']+)["']\s*\)|import\s+["']([^"']+)["']/g;

function* sources(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (/\.tsx?$/.test(entry.name)) yield path;
  }
}

/** [folder, part] of a path below src; part is the folder right under features/ or shared/. */
function folderOf(root, path) {
  const [folder, second] = relative(root, path).split(sep);
  return [folder, folder === "features" || folder === "shared" ? second : null];
}

/** Why a file in `from` must not import one in `to`, or undefined if it may. */
function wrongBetween([from, fromPart], [to, toPart]) {
  for (const folder of [to, from])
    if (!(folder in ALLOWED)) return `src/${folder} is not a folder of the page`;
  if (from !== to) return ALLOWED[from].includes(to) ? undefined : `${from} must not import ${to}`;
  if (fromPart === toPart) return undefined;
  if (from === "features") return `feature ${fromPart} imports feature ${toPart}`;
  if (from === "shared" && !SHARED[fromPart]?.includes(toPart))
    return `shared/${fromPart} must not import shared/${toPart}`;
}

/** Every wrong arrow below `root`, as `{file, specifier, reason}`. */
export function wrongArrows(root) {
  const wrong = [];
  for (const file of sources(root)) {
    const from = folderOf(root, file);
    for (const match of readFileSync(file, "utf8").matchAll(IMPORT)) {
      const specifier = match[1] ?? match[2] ?? match[3];
      let target = null;
      if (specifier.startsWith("@/")) target = join(root, specifier.slice(2));
      else if (specifier.startsWith(".")) target = resolve(dirname(file), specifier);
      if (target === null) continue;
      const to = folderOf(root, target);
      if (!(to[0] in ALLOWED) && !(from[0] in ALLOWED)) continue;
      const reason = wrongBetween(from, to);
      if (reason) wrong.push({ file: relative(root, file), specifier, reason });
    }
  }
  return wrong;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), "../src");
  const wrong = wrongArrows(root);
  for (const { file, specifier, reason } of wrong) console.error(`${file}: "${specifier}": ${reason}`);
  if (wrong.length > 0) process.exit(1);
  console.log("arrows: every import points the right way");
}

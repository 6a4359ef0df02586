// Fails when an import points against the house's arrows:
//   app -> features -> {ui, charts, render} -> scene -> units
// Only features and app call api; features never import each other.
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
  features: ["ui", "charts", "render", "scene", "units", "api"],
  app: ["features", "ui", "charts", "render", "scene", "units", "api"],
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

/** [folder, feature] of a path below src; feature is the folder right under features/. */
function roomOf(root, path) {
  const [folder, second] = relative(root, path).split(sep);
  return [folder, folder === "features" ? second : null];
}

/** Every wrong arrow below `root`, as `{file, specifier, reason}`. */
export function wrongArrows(root) {
  const wrong = [];
  for (const file of sources(root)) {
    const [from, fromFeature] = roomOf(root, file);
    for (const match of readFileSync(file, "utf8").matchAll(IMPORT)) {
      const specifier = match[1] ?? match[2] ?? match[3];
      let target = null;
      if (specifier.startsWith("@/")) target = join(root, specifier.slice(2));
      else if (specifier.startsWith(".")) target = resolve(dirname(file), specifier);
      if (target === null) continue;
      const [to, toFeature] = roomOf(root, target);
      if (!(to in ALLOWED) && !(from in ALLOWED)) continue;
      const name = relative(root, file);
      if (!(to in ALLOWED))
        wrong.push({ file: name, specifier, reason: `src/${to} is no room of the house` });
      else if (!(from in ALLOWED))
        wrong.push({ file: name, specifier, reason: `src/${from} is no room of the house` });
      else if (from === to) {
        // `shared` is the features' own common folder; any other feature is closed to its
        // neighbours.
        if (from === "features" && fromFeature !== toFeature && toFeature !== "shared")
          wrong.push({
            file: name,
            specifier,
            reason: `feature ${fromFeature} imports feature ${toFeature}`,
          });
      } else if (!ALLOWED[from].includes(to))
        wrong.push({ file: name, specifier, reason: `${from} must not import ${to}` });
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

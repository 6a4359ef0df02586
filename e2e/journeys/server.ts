/**
 * The real program with a separate database, serving the built page: one for each of Playwright's
 * workers.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const START_SECS = 120;
const STOP_SECS = 40;

export interface Running {
  url: string;
  stop: () => Promise<void>;
}

/**
 * Starts `cubeyard run` on a free port with an empty home, or takes the server that
 * CUBEYARD_E2E_URL names. `settings` are environment variables.
 */
export async function startServer(name: string, settings: Record<string, string> = {}): Promise<Running> {
  const given = process.env["CUBEYARD_E2E_URL"];
  if (given) return { url: given, stop: async () => {} };
  if (!existsSync(join(root, "frontend/dist/index.html")))
    throw new Error("The page is not built: run `npm run build` in frontend first.");
  const home = join(root, "e2e/.home", name);
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  // Several browsers render in software in parallel: a prediction of half a second of CPU time may
  // wait long for a core.
  const patience = { CUBEYARD_PREDICT_SECS: "60" };
  const program = spawn(join(root, "backend/.venv/bin/cubeyard"), ["run", "--port", "0"], {
    env: { CUBEYARD_LOG_LEVEL: "warning", ...patience, ...process.env, ...settings, CUBEYARD_HOME: home },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const orphan = (): void => void program.kill("SIGTERM"); // also when this process is stopped early
  process.once("exit", orphan);
  const ended = new Promise<void>((done) => program.once("exit", () => done()));
  const within = async <T>(secs: number, promise: Promise<T>, late: () => T): Promise<T> => {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<T>((done) => {
      timer = setTimeout(() => done(late()), secs * 1000);
    });
    return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
  };
  const stop = async (): Promise<void> => {
    if (program.exitCode !== null) return;
    process.off("exit", orphan);
    program.kill("SIGTERM");
    await within(STOP_SECS, ended, () => void program.kill("SIGKILL"));
    await ended;
  };
  const said = new Promise<string>((found) => {
    createInterface(program.stdout).on("line", (line) => {
      const url = /^Cubeyard is at (\S+)/.exec(line)?.[1];
      if (url) found(url);
    });
  });
  const url = await within<string | undefined>(START_SECS, Promise.race([said, ended.then(() => undefined)]), () => undefined);
  if (url === undefined) {
    await stop();
    throw new Error(`\`cubeyard run\` has not started within ${START_SECS} s; its output is above.`);
  }
  return { url, stop };
}

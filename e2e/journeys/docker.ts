/**
 * A Docker engine for a journey: the running one, or one that the journey starts, as in the tests
 * with real packets.
 */
import { spawn } from "node:child_process";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const backend = resolve(dirname(fileURLToPath(import.meta.url)), "../../backend");

export interface Engine {
  /** Value of DOCKER_HOST; null where no engine runs and none can be started. */
  address: string | null;
  stop: () => Promise<void>;
}

export async function startEngine(): Promise<Engine> {
  const program = spawn(join(backend, ".venv/bin/python"), ["-m", "tests.deployment.engine"], {
    cwd: backend,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise<null>((done) => program.once("exit", () => done(null)));
  const orphan = (): void => void program.stdin.end();
  process.once("exit", orphan);
  const said = new Promise<string>((found) => createInterface(program.stdout).once("line", found));
  const address = await Promise.race([said, ended]);
  return {
    address,
    stop: async () => {
      process.off("exit", orphan);
      program.stdin.end();
      await ended;
    },
  };
}

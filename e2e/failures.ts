/**
 * Prints a short list of failed tests at the end: logs of runs are often cut to their last lines,
 * and the report of `list` ends with file names.
 */
import { relative } from "node:path";
import type { FullConfig, Reporter, TestCase, TestResult } from "@playwright/test/reporter";

const LINES = 12;
const ESCAPES = /\u001b\[[0-9;]*m/g;

export default class Failures implements Reporter {
  private root = ".";
  private readonly failed: { test: TestCase; result: TestResult }[] = [];

  onBegin(config: FullConfig): void {
    this.root = config.rootDir;
  }

  onTestEnd(test: TestCase, result: TestResult): void {
    if (result.status !== test.expectedStatus && result.status !== "skipped") this.failed.push({ test, result });
  }

  onEnd(): void {
    for (const { test, result } of this.failed) {
      const { file, line } = test.location;
      console.log(`\nfailed, try ${result.retry + 1}: ${relative(this.root, file)}:${line} ${test.title}`);
      const said = result.errors.map((error) => error.message ?? error.value ?? "").join("\n");
      for (const text of said.replace(ESCAPES, "").split("\n").filter(Boolean).slice(0, LINES))
        console.log(`    ${text.slice(0, 300)}`);
    }
  }
}

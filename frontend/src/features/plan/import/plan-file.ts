/** Reads a plan from a file: the JSON export of a plan, a spec, or a bare topology. */
import type { Summary } from "@/api/types";
import { isObject, type PlanSpec, readSpec } from "@/shared/plans/spec";

/** Name and version of the JSON export, as the server writes them. */
const FORMAT = "cubeyard-plan";
const FORMAT_VERSION = 1;

export interface PlanFile {
  fileName: string;
  spec: PlanSpec;
  /** Name of the plan; null when the file has none. */
  name: string | null;
  /** The plan at the time when the file was written; null for a spec alone. */
  made: { hash: string; engine: string; summary: Summary } | null;
}

/** Throws an Error that describes the problem of the file. */
export function readPlanFile(fileName: string, text: string): PlanFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${fileName} is not JSON. Choose a plan that was exported as JSON.`);
  }
  if (isObject(value) && value.format === FORMAT && Number(value.format_version) > FORMAT_VERSION)
    throw new Error(`${fileName} was made by a newer version of Cubeyard.`);
  const exported = isObject(value) && value.format === FORMAT ? value : null;
  const spec = readSpec(exported ? exported.spec : value);
  if (!spec)
    throw new Error(
      `${fileName} has no plan. A plan's JSON export, or a spec with a topology, can be opened.`,
    );
  return {
    fileName,
    spec,
    name: typeof exported?.name === "string" && exported.name !== "" ? exported.name : null,
    made:
      exported && typeof exported.plan_hash === "string" && isObject(exported.summary)
        ? {
            hash: exported.plan_hash,
            engine: String(exported.engine_version ?? ""),
            summary: exported.summary as unknown as Summary,
          }
        : null,
  };
}

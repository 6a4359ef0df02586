/** The latest complete runs of the same question by every method, and their results. */
import { useQuery } from "@tanstack/react-query";
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import type { Experiment, PointFrame, Run } from "@/api/types";
import {
  type Answers,
  flowBytesOf,
  METHODS,
  type Method,
  type MethodRun,
  sameQuestion,
  type Whole,
} from "./methods";

type Schemas = components["schemas"];

/** The number of experiments that are searched, the latest first. */
const LOOKED_AT = 200;

async function latestRun(experiment: Experiment, signal: AbortSignal): Promise<Run | undefined> {
  const query = { experiment: experiment.id, state: ["succeeded" as const], limit: 1 };
  const { items } = await take(api.GET("/api/v1/runs", { params: { query }, signal }));
  return items[0];
}

/** The run on screen for its own method, and the latest complete run of each other method. */
async function findRuns(own: MethodRun, signal: AbortSignal): Promise<MethodRun[]> {
  const query = { limit: LOOKED_AT };
  const { items } = await take(api.GET("/api/v1/experiments", { params: { query }, signal }));
  const same = items.filter((item) => item.engine !== own.method && sameQuestion(item, own.experiment));
  const complete: MethodRun[] = [];
  for (const method of METHODS) {
    if (method === own.method) complete.push(own);
    for (const experiment of same.filter(({ engine }) => engine === method)) {
      const run = await latestRun(experiment, signal);
      if (run) {
        complete.push({ method, run, experiment });
        break;
      }
    }
  }
  return complete;
}

async function readAnswers(runs: readonly MethodRun[], signal: AbortSignal): Promise<Answers> {
  const answers: Answers = {};
  for (const { method, run, experiment } of runs) {
    const path = { id: run.id };
    const call = api.GET("/api/v1/runs/{id}/results", { params: { path }, signal });
    // Requested as JSON, so the response is not a table.
    const results = (await take(call)) as Schemas["RunResults"];
    if (method === "emulation") {
      if (results.report) answers.emulation = results.report as unknown as Schemas["ReportFrame"];
      continue;
    }
    const first = results.points.find(({ point }) => point === 0) as PointFrame | undefined;
    if (!first) continue;
    if (method === "flow") answers.flow = first.result;
    else {
      const result = first.result as unknown as Whole;
      answers.packet = { result, flowBytes: flowBytesOf(experiment, result) };
    }
  }
  return answers;
}

/** Runs and answers; undefined while they are being read. */
export function useMethods(run: Run, experiment: Experiment) {
  return useQuery({
    queryKey: ["methods", run.id, run.state],
    queryFn: async ({ signal }) => {
      const runs = await findRuns({ method: experiment.engine as Method, run, experiment }, signal);
      return { runs, answers: await readAnswers(runs, signal) };
    },
    refetchOnMount: "always",
  });
}

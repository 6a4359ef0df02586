/** Sends a file to the server to be parsed, with the user's options. */
import { api, take } from "@/api/client";
import type { ImportedTopology } from "@/api/types";
import type { Mark } from "@/shared/server/decimal-question";

export interface Answers {
  servers: string;
  switches: string;
  linkGbps: number | null;
  rateUnit: "" | "gbps" | "mbps" | "kbps" | "bps";
  decimal?: Mark;
}

export const NO_ANSWERS: Answers = { servers: "", switches: "", linkGbps: null, rateUnit: "" };

/** The largest file that the server accepts. */
const MOST_BYTES = 32 * 1024 * 1024;

export async function readTopology(file: File, answers: Answers): Promise<ImportedTopology> {
  if (file.size > MOST_BYTES)
    throw new Error(`${file.name} has more than ${MOST_BYTES / 1024 / 1024} MiB, the most that can be read.`);
  return take(
    api.POST("/api/v1/topologies/import", {
      params: {
        query: {
          name: file.name.slice(-255),
          servers: answers.servers.trim() || undefined,
          switches: answers.switches.trim() || undefined,
          link_gbps: answers.linkGbps ?? undefined,
          rate_unit: answers.rateUnit || undefined,
          decimal: answers.decimal,
        },
      },
      // The file is sent as it is.
      body: "",
      bodySerializer: () => file,
      headers: { "Content-Type": "application/octet-stream" },
    }),
  );
}

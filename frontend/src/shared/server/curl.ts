/** "Copy as curl": each screen registers the REST calls that correspond to it. */
import { useEffect } from "react";
import { create } from "zustand";
import { serverPath } from "@/api/base";
import type { Json } from "@/shared/plans/spec";

export interface ScreenRequest {
  title: string;
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** From the root, with its query: `/api/v1/plans/…`. */
  path: string;
  body?: Json;
  /** A file the answer is saved as. */
  output?: string;
}

export const useScreenRequests = create<{ requests: readonly ScreenRequest[] }>(() => ({ requests: [] }));

/** `requests` should be memoised. */
export function useScreen(requests: readonly ScreenRequest[]): void {
  useEffect(() => {
    useScreenRequests.setState({ requests });
    return () => useScreenRequests.setState({ requests: [] });
  }, [requests]);
}

/** Single quotes keep everything but themselves from a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function curlOf(request: ScreenRequest, origin: string): string {
  const parts = ["curl"];
  if (request.method !== "GET" && !(request.method === "POST" && request.body !== undefined))
    parts.push(`-X ${request.method}`);
  parts.push(quoted(origin + serverPath(request.path)));
  if (request.body !== undefined) {
    parts.push(`-H 'Content-Type: application/json'`);
    parts.push(`-d ${quoted(JSON.stringify(request.body))}`);
  }
  if (request.output) parts.push(`-o ${quoted(request.output)}`);
  return parts.join(" \\\n  ");
}

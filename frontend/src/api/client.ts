/**
 * The generated client, with one way to fail: `ApiError`, which carries the server's problem
 * document.
 */
import createClient from "openapi-fetch";
import { BASE, serverPath } from "./base";
import { reportReachable } from "./connection";
import type { paths } from "./schema";
import type { FieldError, Finding, Problem } from "./types";

export class ApiError extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.name = "ApiError";
    this.problem = problem;
  }

  get status(): number {
    return this.problem.status;
  }

  get findings(): Finding[] {
    return this.problem.findings ?? [];
  }

  get errors(): FieldError[] {
    return this.problem.errors ?? [];
  }
}

/** The server could not be reached at all. */
export class UnreachableError extends Error {
  constructor() {
    super("Cubeyard does not answer. Is it still running?");
    this.name = "UnreachableError";
  }
}

const TOKEN_KEY = "cubeyard.token";

/** A server on another machine requires a token; it is stored for this tab's session only. */
export function setToken(token: string | null): void {
  try {
    if (token) sessionStorage.setItem(TOKEN_KEY, token);
    else sessionStorage.removeItem(TOKEN_KEY);
  } catch {
    // Without storage the token must be given again.
  }
}

export function token(): string | null {
  try {
    return sessionStorage.getItem(TOKEN_KEY);
  } catch {
    return null;
  }
}

const BUSY_TRIES = 5;

/** Retries when a busy server sends the time of the next attempt. */
async function answered(request: Request): Promise<Response> {
  for (let tries = 1; ; tries++) {
    const response = await fetch(request.clone());
    const waitSecs = response.status === 503 ? Number(response.headers.get("retry-after")) : 0;
    if (!waitSecs || tries === BUSY_TRIES) return response;
    await new Promise((go) => setTimeout(go, waitSecs * 1000));
    request.signal.throwIfAborted();
  }
}

/** `fetch` that reports reachability and carries the token. Aborts pass through untouched. */
export async function call(request: Request): Promise<Response> {
  const bearer = token();
  if (bearer) request.headers.set("Authorization", `Bearer ${bearer}`);
  try {
    const response = await answered(request);
    // A development proxy answers 502 for a server that is away.
    reportReachable(response.status !== 502 && response.status !== 504);
    return response;
  } catch (error) {
    if (request.signal.aborted || (error instanceof DOMException && error.name === "AbortError")) throw error;
    reportReachable(false);
    throw new UnreachableError();
  }
}

export const api = createClient<paths>({ baseUrl: BASE, fetch: call });

/** A request to a path of the server outside the generated client. */
export const requestTo = (path: string, init?: RequestInit): Request => new Request(serverPath(path), init);

function isProblem(value: unknown): value is Problem {
  return typeof value === "object" && value !== null && "title" in value && "status" in value;
}

export function errorOf(body: unknown, response: Response): Error {
  if (isProblem(body)) return new ApiError(body);
  if (response.status === 502 || response.status === 504) return new UnreachableError();
  return new ApiError({
    type: "about:blank",
    title: response.statusText || "Error",
    status: response.status,
    detail: `The server answered ${response.status} without saying why.`,
    instance: new URL(response.url || "/", location.origin).pathname,
    request_id: response.headers.get("x-request-id") ?? "",
    errors: [],
    findings: [],
  });
}

/** The data of a call, or its error thrown. */
export async function take<T>(
  result: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<T> {
  const { data, error, response } = await result;
  if (!response.ok || data === undefined) {
    if (response.ok) return undefined as T;
    throw errorOf(error, response);
  }
  return data;
}

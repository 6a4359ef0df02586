import { createServer, type Server, request as send } from "node:http";
import { connect } from "node:net";
import { accessible, drawn, expect, test } from "./page";
import { startServer } from "./server";

const ROOT = "/lab/cubeyard";
const TOKEN = "a-token-from-the-configuration";

/** A reverse proxy for one path, which it removes from the requests; everything else is 404. */
async function proxy(upstream: number): Promise<{ url: string; server: Server; lost: string[] }> {
  const lost: string[] = [];
  const inner = (url = "/") => (url.startsWith(`${ROOT}/`) ? url.slice(ROOT.length) : null);
  const server = createServer((request, response) => {
    const path = inner(request.url);
    if (path === null) {
      lost.push(request.url ?? "");
      response.writeHead(404).end();
      return;
    }
    const { method, headers } = request;
    const onward = send({ host: "127.0.0.1", port: upstream, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  server.on("upgrade", (request, socket) => {
    const path = inner(request.url);
    if (path === null) lost.push(request.url ?? "");
    const onward = connect(upstream, "127.0.0.1", () => {
      const headers = request.rawHeaders.map((text, i) => text + (i % 2 ? "\r\n" : ": ")).join("");
      onward.write(`GET ${path ?? "/"} HTTP/1.1\r\n${headers}\r\n`);
      onward.pipe(socket).pipe(onward);
    });
    for (const end of [onward, socket]) end.on("error", () => {});
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The proxy has no port.");
  return { url: `http://127.0.0.1:${address.port}`, server, lost };
}

test("page, API, streams and session work under a path behind a proxy", { tag: "@long" }, async ({
  browser,
}) => {
  test.skip(process.env["CUBEYARD_E2E_URL"] !== undefined, "starts a server under a path");
  test.slow();
  const settings = { CUBEYARD_HOST: "0.0.0.0", CUBEYARD_TOKEN: TOKEN, CUBEYARD_ROOT_PATH: ROOT };
  const program = await startServer("root-path", settings);
  const { url, server, lost } = await proxy(Number(new URL(program.url).port));
  const context = await browser.newContext({ baseURL: url });
  try {
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(`${ROOT}/plans/new`);
    await expect(page).toHaveURL(`${url}${ROOT}/login?next=%2Fplans%2Fnew`);
    await page.getByLabel("API token").fill(TOKEN);
    await page.getByRole("button", { name: "Log in" }).click();
    await expect(page).toHaveURL(`${url}${ROOT}/plans/new`);
    await drawn(page);
    // A separate address, and the router's links.
    await page.getByRole("link", { name: "Experiments" }).click();
    await expect(page).toHaveURL(new RegExp(`^${url}${ROOT}/experiments`));
    await page.getByRole("link", { name: "Catalog" }).click();
    await expect(page).toHaveURL(new RegExp(`^${url}${ROOT}/catalog`));
    await page.reload();
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    // A stream of events and its end.
    await page.goto(`${ROOT}/search`);
    await page
      .getByRole("form", { name: "Question" })
      .getByRole("button", { name: "Search", exact: true })
      .click();
    const result = page.getByRole("region", { name: "Result" });
    await expect(result.getByRole("status")).toContainText(/[0-9] of [0-9,]+/);
    // A socket reaches the server, which refuses a run that there is none of.
    const refused = await page.evaluate(
      (path) =>
        new Promise<string>((done) => {
          const socket = new WebSocket(new URL(path, location.origin.replace("http", "ws")), ["cubeyard"]);
          socket.onmessage = ({ data }) => done(String(data));
          socket.onclose = ({ code }) => done(`closed with ${code}`);
        }),
      `${ROOT}/api/v1/runs/${"0".repeat(14)}/servers/0/terminal`,
    );
    expect(refused).toContain(`run ${"0".repeat(14)}`);
    await page.goto(`${ROOT}/settings`);
    await accessible(page);
    await page.getByRole("button", { name: "Log out" }).click();
    await expect(page).toHaveURL(`${url}${ROOT}/login`);
    expect(
      lost.filter((path) => path !== "/favicon.ico"),
      "requests that missed the path",
    ).toEqual([]);
    expect(errors).toEqual([]);
  } finally {
    await context.close();
    server.closeAllConnections();
    server.close();
    await program.stop();
  }
});

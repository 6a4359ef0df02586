/**
 * A WebSocket to the server of this page. A browser lets a page set no header of it, so the token
 * goes as a subprotocol.
 */
import { serverUrl } from "./base";
import { token } from "./client";

export const SUBPROTOCOL = "cubeyard";

/** `path` begins with a slash, its query included. */
export function openSocket(path: string): WebSocket {
  const url = new URL(serverUrl(path));
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  const bearer = token();
  const socket = new WebSocket(url, bearer ? [SUBPROTOCOL, `bearer.${bearer}`] : [SUBPROTOCOL]);
  socket.binaryType = "arraybuffer";
  return socket;
}

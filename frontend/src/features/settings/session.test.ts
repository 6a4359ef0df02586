import { expect, test } from "vitest";
import { sessionText } from "./session";

test("a session is named by its token, and by how the browser uses it", () => {
  const text = (needed: boolean, logged_in: boolean, token: string | null) =>
    sessionText({ needed, logged_in, token });
  expect(text(false, false, null)).toBe("Only this machine can reach this server. It needs no login.");
  expect(text(true, true, "laptop")).toBe("Logged in with the token “laptop”.");
  expect(text(true, true, null)).toBe("Logged in with the token from the server’s configuration.");
  expect(text(true, false, "laptop")).toBe("This tab uses the token “laptop”.");
});

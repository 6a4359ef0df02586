import { expect, test } from "vitest";
import type { Draft } from "./draft";
import {
  base64Of,
  bytesIn,
  FIRST_ID,
  fileProblem,
  MOST_FILE_BYTES,
  MOST_SERVICES,
  serviceName,
  servicesOf,
  withModule,
  withoutModules,
  withServices,
} from "./user-services";

const draft = { plan: {}, workload: {}, engine: "emulation", emulation: {} } as Draft;

test.each([
  ["My_Service v2.wasm", "my-service-v2"],
  ["123.wat", "service-123"],
  ["…", "service"],
  ["", "service"],
  [".wasm", "service"],
  ["--a--.wasm", "a"],
  [`${"a".repeat(31)} b.wasm`, "a".repeat(31)],
  ["a.b.c.wasm", "a-b-c"],
])("the file %j gives the name %j, which the server takes", (file, name) => {
  expect(serviceName(file)).toBe(name);
  expect(name).toMatch(/^[a-z][a-z0-9-]{0,31}$/);
});

test.each([0, 1, 2, 3, 4, 0x8000, 0x8001, 131_072])(
  "base64 of %d bytes is what the server decodes",
  (length) => {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 89) % 256);
    const text = base64Of(bytes);
    expect(Buffer.from(text, "base64").equals(Buffer.from(bytes))).toBe(true);
    expect(bytesIn(text)).toBe(length);
  },
);

test("modules get names and numbers of their own; a file of the same name replaces its module", () => {
  const names = ["a.wasm", "b.wasm", "B.wat", "9.wasm", "a.wasm"];
  const services = names.reduce<ReturnType<typeof servicesOf>>(
    (so, name, at) => withModule(so, name, `module ${at}`),
    [],
  );
  expect(services).toEqual([
    { name: "a", id: FIRST_ID, module: "module 4" },
    { name: "b", id: FIRST_ID + 1, module: "module 2" },
    { name: "service-9", id: FIRST_ID + 2, module: "module 3" },
  ]);
});

test("files that cannot be sent are refused with what to do", () => {
  expect(fileProblem({ name: "a.wasm", size: 10 }, [])).toBeNull();
  expect(fileProblem({ name: "a.rs", size: 10 }, [])).toContain("Choose a .wasm file");
  expect(fileProblem({ name: "a.py", size: 10 }, [])).toContain("cubeyard emulate --service-file a.py");
  expect(fileProblem({ name: "a.wasm", size: 0 }, [])).toContain("empty");
  expect(fileProblem({ name: "a.wasm", size: MOST_FILE_BYTES + 1 }, [])).toContain("1.0 MB");
  const full = Array.from({ length: MOST_SERVICES }, (_, at) => ({ name: `s${at}` }));
  expect(fileProblem({ name: "a.wasm", size: 10 }, full)).toContain("at most 4");
  expect(fileProblem({ name: "s1.wasm", size: 10 }, full)).toBeNull();
});

test("a draft without services is what it was, and a link has no modules", () => {
  expect(withServices(draft, [])).toEqual(draft);
  const stored = withServices(draft, [{ name: "a", id: 256, module: "AA==" }]);
  expect(servicesOf(withoutModules(stored))).toEqual([{ name: "a", id: 256 }]);
  expect(withoutModules(draft)).toEqual(draft);
  expect(servicesOf({ ...draft, emulation: { services: [1] } } as Draft)).toEqual([]);
});

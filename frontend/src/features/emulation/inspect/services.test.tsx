import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { NetworkFrame, SessionEvent } from "../session/frames";
import { networkOf } from "../session/network";
import type { Session } from "../session/session";
import type { InspectionSection } from "./inspection-sections";
import { countersOf } from "./service-counters";
import Services from "./services";

const network = networkOf({
  servers: { id: [0], name: ["00"] },
  switches: { id: [], name: [] },
  links: { id: [], a: [], b: [], a_port: [], b_port: [], level: [] },
  flows: { source: [], destination: [], ideal_bits_per_sec: [] },
} as unknown as NetworkFrame);

const cell = (name: string, value: string) => ({ name, kind: "text" as const, value });
const answer: SessionEvent = {
  kind: "protocol",
  name: "service-answer",
  server: 0,
  at_secs: 2,
  at_nanos: null,
  cells: [cell("service", "store"), cell("answer", "VALUE <a> b")],
};

const counters: InspectionSection = {
  name: "services",
  title: "Services",
  columns: (["service", "counter", "count"] as const).map((name) => ({ name, title: name, kind: "text" })),
  rows: [
    ["store", "packets-sent", 1234],
    ["other", "packets-sent", 99],
  ],
  omitted: 0,
};

function drawn(shown: InspectionSection | null, items: unknown[]): string {
  const client = new QueryClient();
  client.setQueryData(["services", "r"], { items, max_message_bytes: 100 });
  const session = { events: [answer] } as unknown as Session;
  return renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <Services
        run="r"
        session={session}
        network={network}
        row={0}
        at={9}
        counters={shown}
        onSelect={() => {}}
      />
    </QueryClientProvider>,
  );
}

const STORE = {
  name: "store",
  title: "Store",
  description: "Keeps values.",
  messages: [{ title: "Look a value up", example: "get a", to_every_server: false }],
};

test("a live server takes messages: examples, what was answered, and the service's own counters", () => {
  const html = drawn(counters, [STORE]);
  expect(html).toContain("Send message");
  expect(html).toContain("Look a value up");
  expect(html).toContain(">get a</textarea>");
  expect(html).toContain("To server 00");
  expect(html).toContain("VALUE &lt;a&gt; b");
  expect(html).toContain("packets sent");
  expect(html).toContain("1,234");
  expect(html).not.toContain(">99<");
});

test("in the past what was said is shown, and nothing can be sent", () => {
  const html = drawn(null, [STORE]);
  expect(html).toContain("VALUE &lt;a&gt; b");
  expect(html).not.toContain("<form");
});

test("a server without services has nothing of them", () => {
  expect(drawn(counters, [])).toBe("");
});

test("what a service of the user's own has lost comes first, by reason", () => {
  const own = { name: "flood", title: "flood", description: "Written by a user.", messages: [] };
  const rows = [
    ["flood", "calls", 7],
    ["flood", "packets-without-room", 41],
    ["flood", "lost-out-of-fuel", 0],
  ];
  const section = { ...counters, rows };
  expect(countersOf(section, "flood").map(({ name }) => name)).toEqual([
    "packets without room",
    "calls",
    "lost out of fuel",
  ]);
  const html = drawn(section, [own]);
  expect(html).toContain("sends more than its share");
  expect(html.match(/data-tone="bad"/g)).toHaveLength(1);
  expect(html).toContain("code reads it");
});

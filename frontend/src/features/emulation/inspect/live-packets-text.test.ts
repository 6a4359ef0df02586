import { describe, expect, it } from "vitest";
import { commandOf, curlOf, MAX_SHOWN, NOTHING, queryOf, withEvent } from "./live-packets-text";

const item = (at: number) => ({
  at_secs: at,
  size_bytes: 60,
  outgoing: true,
  protocol: "tcp",
  source: "00",
  destination: "01",
  text: `TCP ${at}`,
});
const packets = (count: number, items: unknown[]) => ({
  id: null,
  event: "packets",
  data: JSON.stringify({ packets: count, size_bytes: count * 60, items }),
});
const EVERYTHING = { protocol: "", host: "", port: "" };

describe("a stream of packets", () => {
  it("counts all packets and numbers those that are told, the last of each event", () => {
    const first = withEvent(NOTHING, packets(2, [item(0), item(1)]));
    const later = withEvent(first, packets(90, [item(2), item(3), item(4)]));
    expect([later.packets, later.bytes]).toEqual([90, 5400]);
    expect(later.items.map(({ number, at_secs }) => [number, at_secs])).toEqual([
      [1, 0],
      [2, 1],
      [88, 2],
      [89, 3],
      [90, 4],
    ]);
  });

  it("keeps a bounded number of packets, the latest", () => {
    let stream = NOTHING;
    for (let count = 50; count <= 600; count += 50)
      stream = withEvent(
        stream,
        packets(
          count,
          Array.from({ length: 50 }, (_, i) => item(count + i)),
        ),
      );
    expect(stream.items).toHaveLength(MAX_SHOWN);
    expect(stream.items.at(-1)?.number).toBe(600);
    expect(stream.items[0]?.number).toBe(401);
  });

  it("ends with a reason and what was missed", () => {
    const data = JSON.stringify({ reason: "The server stops.", packets: 7, missed: 3 });
    const over = withEvent(withEvent(NOTHING, packets(6, [])), { id: null, event: "end", data });
    expect(over).toMatchObject({ packets: 7, end: "The server stops.", missed: 3 });
    expect(withEvent(over, { id: null, event: "later", data: "{}" })).toBe(over);
  });
});

describe("commands for Wireshark", () => {
  it("quote names of links for a shell", () => {
    expect(commandOf("r1", { link: "00/<0,0>" }, EVERYTHING)).toBe(
      "bin/cubeyard capture r1 --link '00/<0,0>' -w - | wireshark -k -i -",
    );
    expect(
      commandOf("r1", { server: "(1,1,1)", port: 2 }, { protocol: "tcp", host: " it's ", port: "80" }),
    ).toBe(
      `bin/cubeyard capture r1 --port '(1,1,1):2' --match-protocol tcp --match-host 'it'"'"'s' --match-port 80 -w - | wireshark -k -i -`,
    );
  });

  it("take a token where the page is not this machine's own", () => {
    const at = (hostname: string) => ({ hostname, origin: `http://${hostname}:8000` });
    const here = curlOf("r1", { link: "a/b" }, EVERYTHING, at("127.0.0.1"));
    expect(here).toBe(
      "curl -sN 'http://127.0.0.1:8000/api/v1/runs/r1/packets.pcapng?link=a%2Fb' | wireshark -k -i -",
    );
    expect(curlOf("r1", { link: "a/b" }, EVERYTHING, at("lab.example"))).toContain(
      '-H "Authorization: Bearer $CUBEYARD_TOKEN"',
    );
  });

  it("leave out what is not asked for", () => {
    expect(queryOf({ server: "00", port: 1 }, { protocol: "", host: "  ", port: "" })).toBe(
      "server=00&port=1",
    );
    expect(queryOf({ link: "a/b" }, { protocol: "arp", host: "00", port: "0" })).toBe(
      "link=a%2Fb&match_protocol=arp&match_host=00&match_port=0",
    );
  });
});

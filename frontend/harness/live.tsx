/**
 * The live picture of a network that no run is needed for: loads made up, one cable pulled, one
 * server off, one path.
 */
import { useState } from "react";
import OUTLINES from "../src/features/emulation/picture/testing/outlines.json";
import { TopologyView } from "../src/features/emulation/picture/topology-view";
import type { NetworkFrame, Tick } from "../src/features/emulation/session/frames";
import { type Item, networkOf, stepsOf } from "../src/features/emulation/session/network";
import "../src/shared/faults/testing/with-fault-kinds";
import type { ThemeName } from "../src/units";

const RATE = 1e8;

/** `name` is of `outlines.json`. */
export function Live({ name, theme }: { name: string; theme: ThemeName }) {
  const network = networkOf({
    ...(OUTLINES as Record<string, unknown>)[name]!,
    rate_bits_per_sec: RATE,
    flows: { source: [], destination: [], ideal_bits_per_sec: [] },
  } as unknown as NetworkFrame);
  const [selection, setSelection] = useState<Item | null>(null);
  const share = (row: number, salt: number) => ((row * 7919 + salt * 104729) % 97) / 97;
  const bytes = (count: number, salt: number) =>
    Uint32Array.from({ length: count }, (_, row) => (share(row, salt) * RATE) / 80);
  const tick = {
    at: 1,
    secs: 0.1,
    ab: bytes(network.links, 1),
    ba: bytes(network.links, 2),
    received: bytes(network.servers, 3),
    relayed: bytes(network.servers, 4),
    serverCpu: new Float32Array(network.servers),
  } as unknown as Tick;
  const direct = Array.from(network.a).findIndex(
    (a, link) => a < network.servers && network.b[link]! < network.servers,
  );
  const pulled = direct < 0 ? 1 : direct;
  const last = network.links - 1;
  const path = new URLSearchParams(location.search).get("path")
    ? stepsOf(network, [network.a[last]!, network.b[last]!])
    : [];
  return (
    <div style={{ width: 760, height: 460, position: "relative", display: "grid" }}>
      <TopologyView
        network={network}
        tick={tick}
        broken={{
          nodes: new Map([[2, "server-frozen"]]),
          links: new Map([[pulled, "cable-pulled"]]),
          degraded: new Map(),
        }}
        selection={selection}
        targets={[]}
        path={path}
        formerPath={[]}
        injecting={false}
        theme={theme}
        onSelect={setSelection}
      />
      <output>{selection ? `${selection.kind} ${selection.row}` : ""}</output>
    </div>
  );
}

/**
 * Plan documents for tests: a partial BCube(n, 3) wired by the digit rule [bcube §3.1] and packed
 * as [bcube §5.2], small enough to make in a test, of the same shape as the API's. Lengths are made
 * up; nothing shipped uses this.
 */
import type { CablesDocument, SceneDocument } from "../document";

export interface SamplePlan {
  scene: SceneDocument;
  cables: CablesDocument;
  topology: { family: string; n: number; k: number; servers: number };
}

const SLOT_SERVERS = 2;
const SLOT_SWITCHES = 4;

/**
 * `groups` of `n` top-level BCube_2s; n = 8, groups = 4 is the paper's container of 2,048 servers.
 */
export function sampleBcube(n = 8, groups = 4): SamplePlan {
  const perRack = n * n;
  const servers = groups * n ** 3;
  const rackCount = servers / perRack;
  const names: string[] = [];
  const kind: number[] = [];
  const level: number[] = [];
  const rack: number[] = [];
  const unit: number[] = [];
  const slot: number[] = [];
  const slots: number[] = [];
  const used = new Array<number>(rackCount).fill(0);
  const serverUnits = Math.ceil(perRack / SLOT_SERVERS);
  const switchesInRack = new Array<number>(rackCount).fill(0);
  const digits = (value: number, count: number) => {
    const out: number[] = [];
    for (let i = 0, rest = value; i < count; i++, rest = Math.floor(rest / n)) out.unshift(rest % n);
    return out.join("");
  };
  for (let s = 0; s < servers; s++) {
    names.push(digits(s, 4));
    kind.push(0);
    level.push(-1);
    rack.push(Math.floor(s / perRack));
    unit.push(1 + Math.floor((s % perRack) / SLOT_SERVERS));
    slot.push(s % SLOT_SERVERS);
    slots.push(SLOT_SERVERS);
  }
  const first: number[] = [];
  for (let l = 0; l < 4; l++) {
    first.push(names.length);
    const count = l === 3 ? n ** 3 : servers / n;
    const perRackHere = Math.ceil(count / rackCount);
    for (let i = 0; i < count; i++) {
      const r = Math.floor(i / perRackHere);
      names.push(`<${l},${digits(i, 3)}>`);
      kind.push(1);
      level.push(l);
      rack.push(r);
      const place = switchesInRack[r]!++;
      unit.push(serverUnits + 3 + Math.floor(place / SLOT_SWITCHES));
      slot.push(place % SLOT_SWITCHES);
      slots.push(SLOT_SWITCHES);
    }
  }
  const columns = {
    a_device: [] as number[],
    a_port: [] as number[],
    b_device: [] as number[],
    b_port: [] as number[],
    level: [] as number[],
    route: [] as number[],
    length_mm: [] as number[],
    stock_mm: [] as number[],
    part: [] as number[],
    colour: [] as number[],
    bundle: [] as number[],
  };
  const bundles = new Map<string, { a: number; b: number; byLevel: number[] }>();
  const bundleIndex = new Map<string, number>();
  const perRow = Math.ceil(rackCount / 2);
  const pitch = 0.6;
  const left = (12 - perRow * pitch) / 2;
  const xOf = (r: number) => left + ((r % perRow) + 0.5) * pitch;
  const yOf = (r: number) => (r < perRow ? 1.975 : 0.375);
  for (let s = 0; s < servers; s++)
    for (let l = 0; l < 4; l++) {
      const step = n ** l;
      const digit = Math.floor(s / step) % n;
      const address = Math.floor(s / (step * n)) * step + (s % step);
      const device = first[l]! + address;
      const [ra, rb] = [rack[s]!, rack[device]!];
      columns.a_device.push(s);
      columns.a_port.push(l);
      columns.b_device.push(device);
      columns.b_port.push(digit);
      columns.level.push(l);
      const across = ra < perRow !== rb < perRow;
      columns.route.push(ra === rb ? 0 : across ? 2 : 1);
      const metres = 1.5 + Math.abs(xOf(ra) - xOf(rb)) + (across ? 1.6 : 0);
      columns.length_mm.push(Math.round(metres * 1000));
      columns.stock_mm.push(Math.ceil(metres + 0.5) * 1000);
      columns.part.push(0);
      columns.colour.push(l);
      if (ra === rb) columns.bundle.push(-1);
      else {
        const [a, b] = ra < rb ? [ra, rb] : [rb, ra];
        const key = `${a}-${b}`;
        let index = bundleIndex.get(key);
        if (index === undefined) {
          index = bundleIndex.size;
          bundleIndex.set(key, index);
          bundles.set(key, { a, b, byLevel: [0, 0, 0, 0] });
        }
        bundles.get(key)!.byLevel[l]!++;
        columns.bundle.push(index);
      }
      used[ra] = Math.max(used[ra]!, unit[s]!);
    }
  const list = [...bundles.values()];
  const leaving = new Array<number>(rackCount).fill(0);
  for (const { a, b, byLevel } of list) {
    const total = byLevel.reduce((sum, x) => sum + x, 0);
    leaving[a]! += total;
    leaving[b]! += total;
  }
  const { trays, runs } = traysOf(rackCount, perRow, xOf, yOf, list);
  return {
    topology: { family: "bcube", n, k: 3, servers },
    cables: {
      count: columns.a_device.length,
      offset: 0,
      columns,
      routes: ["in rack", "tray", "crossing"],
      colours: ["blue", "orange", "green", "purple"],
      parts: [],
    },
    scene: {
      enclosure: {
        kind: "container",
        name: "40-ft container",
        length_metres: 12,
        width_metres: 2.35,
        height_metres: 2.38,
      },
      racks: {
        name: Array.from({ length: rackCount }, (_, r) => `R${String(r).padStart(2, "0")}`),
        x_metres: Array.from({ length: rackCount }, (_, r) => xOf(r)),
        y_metres: Array.from({ length: rackCount }, (_, r) => yOf(r)),
        width_metres: new Array(rackCount).fill(0.6),
        depth_metres: new Array(rackCount).fill(0.75),
        facing: Array.from({ length: rackCount }, (_, r) => (r < perRow ? "south" : "north")),
        row: Array.from({ length: rackCount }, (_, r) => (r < perRow ? 0 : 1)),
        group: Array.from({ length: rackCount }, (_, r) => Math.floor(r / n)),
        group_label: Array.from({ length: rackCount }, (_, r) => `super-rack ${Math.floor(r / n)}`),
        units: new Array(rackCount).fill(44),
        units_used: Array.from(
          { length: rackCount },
          (_, r) => serverUnits + Math.ceil(switchesInRack[r]! / SLOT_SWITCHES),
        ),
        servers: new Array(rackCount).fill(perRack),
        switches: switchesInRack,
        power_watts: Array.from({ length: rackCount }, (_, r) => 8100 + ((r * 7) % 11) * 100),
        weight_kg: Array.from({ length: rackCount }, (_, r) => 800 + ((r * 5) % 7) * 10),
        cables_leaving: leaving,
        tray_x_metres: Array.from({ length: rackCount }, (_, r) => xOf(r)),
        tray_y_metres: Array.from({ length: rackCount }, (_, r) => yOf(r)),
      },
      devices: {
        name: names,
        host: names.map(
          (name) => `${name.startsWith("<") ? "s" : "h"}${name.replace(/[<>]/g, "").replaceAll(",", "-")}`,
        ),
        kind,
        level,
        rack,
        unit,
        height_units: new Array(names.length).fill(1),
        slot,
        slots,
        part: kind,
        port_count: kind.map((k) => (k === 0 ? 4 : n)),
      },
      parts: [
        { sku: "SRV", name: "half-width server", kind: "server" },
        { sku: "SW-8", name: "8-port switch", kind: "switch" },
      ],
      levels: [0, 1, 2, 3].map((l) => ({ level: l, label: `Level ${l}` })),
      trays,
      bundles: {
        rack_a: list.map(({ a }) => a),
        rack_b: list.map(({ b }) => b),
        cables: list.map(({ byLevel }) => byLevel.reduce((sum, x) => sum + x, 0)),
        by_level: list.map(({ byLevel }) => byLevel),
        diameter_mm: list.map(() => 20),
        length_metres: list.map(({ a, b }) => Math.abs(xOf(a) - xOf(b)) + 2),
        pull_order: list.map((_, i) => i),
        tray_runs: runs,
      },
    },
  };
}

/**
 * Tray pieces between neighbouring racks and one crossing in each half; loads by where each bundle
 * runs.
 */
function traysOf(
  rackCount: number,
  perRow: number,
  xOf: (rack: number) => number,
  yOf: (rack: number) => number,
  bundles: readonly { a: number; b: number; byLevel: readonly number[] }[],
): { trays: SceneDocument["trays"]; runs: [number, number][][] } {
  const pieces: {
    name: string;
    from: [number, number];
    to: [number, number];
    kind: string;
    load: number[];
  }[] = [];
  for (let r = 0; r + 1 < rackCount; r++) {
    if ((r + 1) % perRow === 0) continue;
    pieces.push({
      name: `T${r}`,
      from: [xOf(r), yOf(r)],
      to: [xOf(r + 1), yOf(r + 1)],
      kind: "column",
      load: [0, 0, 0, 0],
    });
  }
  for (const r of [Math.floor(perRow / 4), Math.floor((perRow * 3) / 4)])
    pieces.push({
      name: `X${r}`,
      from: [xOf(r), yOf(0)],
      to: [xOf(r), yOf(rackCount - 1)],
      kind: "crossing",
      load: [0, 0, 0, 0],
    });
  const runs = bundles.map(({ a, b }) => runsOf(a, b, rackCount, perRow));
  bundles.forEach(({ byLevel }, bundle) => {
    for (const [first, past] of runs[bundle]!)
      for (let tray = first; tray !== past; tray += Math.sign(past - first))
        byLevel.forEach((count, l) => {
          pieces[tray]!.load[l]! += count;
        });
  });
  const total = (p: { load: number[] }) => p.load.reduce((sum, x) => sum + x, 0);
  const trays = {
    name: pieces.map((p) => p.name),
    x0_metres: pieces.map((p) => p.from[0]),
    y0_metres: pieces.map((p) => p.from[1]),
    x1_metres: pieces.map((p) => p.to[0]),
    y1_metres: pieces.map((p) => p.to[1]),
    z_metres: pieces.map(() => 2.06),
    kind: pieces.map((p) => p.kind),
    cables: pieces.map(total),
    area_cm2: pieces.map((p) => total(p) * 0.23),
    fill: pieces.map((p) => (total(p) * 0.23) / 600),
    cables_by_level: pieces.map((p) => p.load),
  };
  return { trays, runs };
}

/** Along the row to the nearer of the two crossings, over it, along the other row. */
function runsOf(a: number, b: number, rackCount: number, perRow: number): [number, number][] {
  const inSecond = rackCount - perRow;
  const leg = (row: number, from: number, to: number): [number, number][] => {
    const base = row === 0 ? 0 : perRow - 1;
    if (from === to) return [];
    return [from < to ? [base + from, base + to] : [base + from - 1, base + to - 1]];
  };
  const [rowA, rowB] = [a < perRow ? 0 : 1, b < perRow ? 0 : 1];
  const [placeA, placeB] = [a % perRow, b % perRow];
  if (rowA === rowB) return leg(rowA, placeA, placeB);
  const places = [Math.floor(perRow / 4), Math.floor((perRow * 3) / 4)];
  const detour = (place: number) => Math.abs(place - placeA) + Math.abs(place - placeB);
  const nearer = detour(places[1]!) < detour(places[0]!) ? 1 : 0;
  const crossing = perRow - 1 + (inSecond - 1) + nearer;
  return [
    ...leg(rowA, placeA, places[nearer]!),
    rowA === 0 ? [crossing, crossing + 1] : [crossing, crossing - 1],
    ...leg(rowB, places[nearer]!, placeB),
  ];
}

/**
 * The documents of the API as plain data, exactly as they arrive: columns, one array per property.
 * Nothing here is ours to change; `model.ts` turns them into typed arrays once.
 */

export type Column = readonly number[];

/** The response of `GET /plans/{id}/scene`. */
export interface SceneDocument {
  enclosure: {
    kind: "container" | "rows" | string;
    name: string;
    length_metres: number;
    width_metres: number;
    height_metres: number;
  };
  racks: {
    name: readonly string[];
    /** Centre, from the enclosure's corner; x along its length, y to the north. */
    x_metres: Column;
    y_metres: Column;
    width_metres: Column;
    depth_metres: Column;
    /** The direction of the front: "north" is towards larger y. */
    facing: readonly string[];
    row: Column;
    group: Column;
    group_label: readonly string[];
    units: Column;
    units_used: Column;
    servers: Column;
    switches: Column;
    power_watts: Column;
    weight_kg: readonly (number | null)[];
    cables_leaving: Column;
    /** The x at which the rack's cables join the trays. */
    tray_x_metres: Column;
    tray_y_metres: Column;
  };
  devices: {
    /** As the paper writes it: `0132`, `<3,001>`. */
    name: readonly string[];
    /** The DNS label that every export uses: `h0132`, `s3-001`. */
    host: readonly string[];
    /** 0 server, 1 switch. */
    kind: Column;
    /** Switch level; -1 for a server. */
    level: Column;
    rack: Column;
    /** Bottom unit, 1-based from the floor. */
    unit: Column;
    height_units: Column;
    /** Place from the left, seen from the front, among `slots` devices side by side. */
    slot: Column;
    slots: Column;
    part: Column;
    port_count: Column;
  };
  parts: readonly { sku: string; name: string; kind: string }[];
  levels: readonly { level: number; label: string }[];
  trays: {
    name: readonly string[];
    x0_metres: Column;
    y0_metres: Column;
    x1_metres: Column;
    y1_metres: Column;
    z_metres: Column;
    kind: readonly string[];
    cables: Column;
    area_cm2: Column;
    /** Share of the cross-section, 0..1. */
    fill: Column;
    /** One list a tray, one number a level. */
    cables_by_level: readonly Column[];
  };
  bundles: {
    rack_a: Column;
    rack_b: Column;
    cables: Column;
    by_level: readonly Column[];
    diameter_mm: Column;
    length_metres: Column;
    pull_order: Column;
    /**
     * The trays of each bundle from rack_a to rack_b, as runs of consecutive trays: the first, and
     * the one past the last (one less than the last where the run goes down).
     */
    tray_runs: readonly (readonly Column[])[];
  };
}

/** `GET /plans/{id}/cables`, whole: cable index is link index. */
export interface CablesDocument {
  count: number;
  offset: number;
  columns: {
    a_device: Column;
    a_port: Column;
    b_device: Column;
    b_port: Column;
    level: Column;
    /** The route of each cable, as an index into `routes`. */
    route: Column;
    length_mm: Column;
    stock_mm: Column;
    part: Column;
    colour: Column;
    /** Index of the bundle; -1 inside a rack. */
    bundle: Column;
    /** The row of the whole cable: its own row, or that of a breakout's first leg. */
    lead?: Column;
    /** The number of a breakout's leg, from 1; 0 for other cables. */
    leg?: Column;
    /** The end with a breakout's one plug: 1 for a, 2 for b. */
    trunk?: Column;
  };
  routes: readonly string[];
  colours: readonly string[];
  parts: readonly unknown[];
}

/** The resolved topology spec: the family and its letters. Only the logical view reads it. */
export interface TopologySpec {
  family: string;
  readonly [parameter: string]: unknown;
}

/**
 * The families at equal size, for starting and for comparing. Sizes: [bcube §5.1, §6, §8], the
 * others chosen to match.
 */
import { DEFAULT_SPEC, type PlanSpec, type TopologySpec } from "./spec";

export interface Example {
  /** The part in URLs: `ex:dcell`. */
  slug: string;
  title: string;
  /** A short name for a chip. */
  short: string;
  detail: string;
  spec: PlanSpec;
}

const of = (topology: TopologySpec): PlanSpec => ({ ...DEFAULT_SPEC, topology });

export const EXAMPLES: readonly Example[] = [
  {
    slug: "bcube",
    title: "Partial BCube(8,3)",
    short: "BCube",
    detail: "the paper's container",
    spec: DEFAULT_SPEC,
  },
  {
    slug: "dcell",
    title: "Partial DCell(8,2)",
    short: "DCell",
    detail: "recursive, one mini-switch a cell",
    spec: of({ family: "dcell", n: 8, k: 2, servers: 2048 }),
  },
  {
    slug: "fat-tree",
    title: "Fat-tree, five layers",
    short: "Fat-tree",
    detail: "8-port switches",
    spec: of({ family: "fat_tree", ports: 8, layers: 5, servers: 2048 }),
  },
  {
    slug: "tree",
    title: "Two-level tree",
    short: "Tree",
    detail: "48-port edge switches",
    spec: of({ family: "tree", edge_ports: 48, servers: 2048 }),
  },
  {
    slug: "leaf-spine",
    title: "Leaf-spine, 64 leaves and 4 spines",
    short: "Leaf-spine",
    detail: "10 Gb/s servers, 40 Gb/s uplinks, 2:1",
    spec: of({ family: "leaf_spine", leaves: 64, spines: 4, servers_per_leaf: 32 }),
  },
  {
    slug: "camcube",
    title: "CamCube 16×16×8",
    short: "CamCube",
    detail: "3D torus, no switches",
    spec: of({ family: "torus3d", x: 16, y: 16, z: 8 }),
  },
  {
    slug: "subways",
    title: "Subways type 1",
    short: "Subways",
    detail: "two ports a server",
    spec: of({ family: "subways", type: 1, p: 2, q: 32, l: 16, clusters: 4, loops_per_cluster: 2 }),
  },
  {
    slug: "torus2d",
    title: "2D torus 64×32",
    short: "2D torus",
    detail: "four ports a server, no switches",
    spec: of({ family: "torus2d", x: 64, y: 32 }),
  },
  {
    slug: "jellyfish",
    title: "Jellyfish, 128 switches",
    short: "Jellyfish",
    detail: "random links between 32-port switches",
    spec: of({ family: "jellyfish", switches: 128, ports: 32, servers_per_switch: 16 }),
  },
  {
    slug: "dragonfly",
    title: "Dragonfly, 16 groups",
    short: "Dragonfly",
    detail: "16 routers a group, all groups joined",
    spec: of({ family: "dragonfly", a: 16, p: 8, h: 8, groups: 16 }),
  },
];

export const exampleBySlug = (slug: string) => EXAMPLES.find((example) => example.slug === slug);

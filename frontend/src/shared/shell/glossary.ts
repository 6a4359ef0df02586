/** Terms that the page, the CLI and the docs use, each with a single meaning. */
export interface Term {
  term: string;
  meaning: string;
}

export const GLOSSARY: readonly Term[] = [
  {
    term: "ABT",
    meaning: "Aggregate bottleneck throughput: the number of flows times the rate of the slowest flow.",
  },
  {
    term: "AFR",
    meaning: "Annual failure rate: the share of new parts that fail within their first year.",
  },
  {
    term: "Baseline",
    meaning: "The mean before the first fault of a run. Later values are given in per cent of it.",
  },
  { term: "Bundle", meaning: "Cables between the same two racks over the same trays, pulled together." },
  { term: "Cable", meaning: "A physical cable between two ports. A link is what it carries." },
  {
    term: "Emulation",
    meaning: "A run with real packets between servers on this machine. Its numbers are measured.",
  },
  {
    term: "Experiment",
    meaning: "A plan, traffic, faults and seeds, saved under a name. It can be run many times.",
  },
  { term: "Failure rate", meaning: "The share of servers, switches, links or racks that a sweep lets fail." },
  {
    term: "Fault",
    meaning: "Something that stops working or works worse. A fault is injected and recovered.",
  },
  {
    term: "Fidelity",
    meaning: "Whether the numbers of an emulation are those of the network, or of the host as a limit.",
  },
  { term: "Flow", meaning: "Data from one server to another, with a rate of its own." },
  { term: "Goodput", meaning: "Payload received per second, without headers and retransmissions." },
  {
    term: "Host name",
    meaning: "A device's name in every table, label, file and run, such as h0132 or s3-001: a name for DNS.",
  },
  {
    term: "Host-limited",
    meaning: "The machine that runs the emulation was the limit, not the emulated network.",
  },
  { term: "Level", meaning: "The tier of a switch, counted from 0 at the servers." },
  { term: "Link", meaning: "A logical connection of two ports, with a rate in each direction." },
  {
    term: "Max-min fair rate",
    meaning: "A flow's share when no flow can get more without taking from a slower one.",
  },
  {
    term: "Order length",
    meaning: "The length of a cable as bought: its routed length and slack, rounded up to a stock length.",
  },
  { term: "Path", meaning: "The servers and switches that a flow passes." },
  { term: "Plug operation", meaning: "One end of a cable put into a port or taken out of one." },
  { term: "Point", meaning: "One result of a run: one topology at one failure rate with one seed." },
  { term: "Prediction", meaning: "A run of the flow engine. Its numbers are modelled." },
  { term: "Routed length", meaning: "The length of a cable along racks and trays, without slack." },
  { term: "Run", meaning: "One execution of an experiment. It can be cancelled while it lasts." },
  {
    term: "Seed",
    meaning: "The number that all random choices of a run come from. The same seed gives the same run.",
  },
  { term: "Simulation", meaning: "A run of the packet engine: packets in virtual time." },
  { term: "Slice", meaning: "A part of a plan that is small enough to be emulated on this machine." },
  { term: "Sweep", meaning: "An experiment with several points: failure rates, topologies, seeds." },
  { term: "Tray fill", meaning: "The cables' cross-section as a share of the tray's." },
  {
    term: "Wiring certificate",
    meaning: "Checks of every cable against the rules of the topology, made from addresses alone.",
  },
];

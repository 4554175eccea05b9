// Where a flow's time went, in the words of docs/ground-truth.md.
import type { Run } from "./run";

export interface Part {
  name: string;
  words: string;
  colour: string;
  ticks: number;
}

const PARTS: [string, string, string][] = [
  ["connection_wait", "its connection was busy", "#999999"],
  ["paced", "paced at the source", "#CC79A7"],
  ["nic_held", "held at its NIC", "#0072B2"],
  ["nic_queue", "its NIC sent other flows", "#F0E442"],
  ["recovery", "until packets were sent again", "#332288"],
  ["gate", "behind paused ports", "#56B4E9"],
  ["backlog", "in queues of held ports", "#E69F00"],
  ["queue", "in other queues", "#D55E00"],
  ["drain", "in a slow host's receive queue", "#882255"],
  ["reorder_wait", "waited for packets that came late", "#44AA99"],
  ["rest", "not explained", "#000000"],
];

/** The parts that are not 0, and last what it would wait alone, too, which is taken off. */
export function parts(run: Run, row: number): Part[] {
  if (row < 0) return [];
  const read = (name: string) => run.column(`flows.${name}`)[row] ?? 0;
  const found = PARTS.map(([name, words, colour]) => ({ name, words, colour, ticks: read(name) }));
  const alone = { name: "ideal_wait", words: "less what it waits alone", colour: "transparent", ticks: -read("ideal_wait") };
  return [...found, alone].filter((part) => part.ticks !== 0);
}

// What is wrong in the fabric at a moment: links and nodes that have a fault.
import type { Run } from "./run";

/** A fault at a node, or at the link between two. */
export interface Wrong {
  /** Its number in the header. */
  fault: number;
  node: number;
  /** -1: it is at the node. */
  peer: number;
}

/** The places at which something is wrong at a time in ticks. */
export function wrong(run: Run, time: number): Wrong[] {
  const [fault, node, peer, start, length] = ["fault", "node", "peer", "start", "length"].map((name) => run.column(`faults.${name}`));
  const found: Wrong[] = [];
  fault.forEach((number, row) => {
    if (start[row] <= time && time < start[row] + Math.max(1, length[row])) found.push({ fault: number, node: node[row], peer: peer[row] });
  });
  return found;
}

/** The faults at a node, or at the link between two nodes, or all (-1), each with its first begin in ticks. */
export function beginnings(run: Run, node = -1, peer = -1): { fault: number; start: number }[] {
  const [fault, one, other, start] = ["fault", "node", "peer", "start"].map((name) => run.column(`faults.${name}`));
  const found = new Map<number, number>();
  fault.forEach((number, row) => {
    const ends = [one[row], other[row]];
    const here = node < 0 || (ends.includes(node) && (peer < 0 || other[row] < 0 || ends.includes(peer)));
    if (here) found.set(number, Math.min(start[row], found.get(number) ?? Infinity));
  });
  return [...found].map(([number, begin]) => ({ fault: number, start: begin }));
}

// The way of a flow through the network. Records tell where its followed packets waited; between such places there may be
// several shortest ways, of which nothing is recorded: those are told apart.
import type { Run } from "./run";

export interface Path {
  /** Egress ports that the flow certainly used, in order. */
  sure: number[];
  /** Egress ports on shortest ways between, one of which it used. */
  maybe: number[];
}

/** Ports of each node, drains left out. */
export function portsOf(run: Pick<Run, "header" | "ports" | "node" | "drain">): number[][] {
  const found: number[][] = run.header.nodes.map(() => []);
  for (let port = 0; port < run.ports; port++) if (!run.drain[port]) found[run.node[port]]?.push(port);
  return found;
}

/** Whether a node is a host: it stands in tier 0; where no tiers are told, it has one link. */
function isHost(run: Pick<Run, "header">, out: number[][], node: number): boolean {
  const places = run.header.places;
  return places ? places.tier[node] === 0 : out[node].length === 1;
}

/** Links from every node to `target`; Infinity where there is no way. Hosts do not forward. */
export function distances(run: Pick<Run, "header" | "ports" | "node" | "peer" | "drain">, out: number[][], target: number) {
  const distance = new Float64Array(run.header.nodes.length).fill(Infinity);
  distance[target] = 0;
  let level = [target];
  while (level.length) {
    const next: number[] = [];
    for (const node of level) {
      if (node !== target && isHost(run, out, node)) continue;
      for (const port of out[node]) {
        const peer = run.peer[port];
        if (distance[peer] === Infinity) {
          distance[peer] = distance[node] + 1;
          next.push(peer);
        }
      }
    }
    level = next;
  }
  return distance;
}

/** The path from `src` to `dst` of a flow that waited at the ports `seen`. */
export function path(
  run: Pick<Run, "header" | "ports" | "node" | "peer" | "drain">,
  out: number[][],
  src: number,
  dst: number,
  seen: number[],
): Path {
  const used = new Set(seen.filter((port) => port >= 0 && !run.drain[port]));
  const distance = distances(run, out, dst);
  const sure: number[] = [];
  const maybe: number[] = [];
  let level = new Set([src]);
  // Each round goes one link on, from every node where the flow may be; a flow that was spread has more than one way.
  for (let round = 0; round < run.header.nodes.length && level.size && !level.has(dst); round++) {
    const ways = [...level].flatMap((node) => out[node].filter((port) => distance[run.peer[port]] < distance[node]));
    const known = ways.filter((port) => used.has(port));
    const taken = known.length ? known : ways;
    (known.length || ways.length === 1 ? sure : maybe).push(...taken);
    level = new Set(taken.map((port) => run.peer[port]));
  }
  // Ways that are not shortest are known by where packets waited alone.
  const told = new Set([...sure, ...maybe]);
  sure.push(...[...used].filter((port) => !told.has(port)));
  return { sure, maybe };
}

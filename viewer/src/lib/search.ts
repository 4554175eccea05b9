// Nodes, ports and flows by what a user types.
import type { Run } from "./run";

const MOST = 30;

export interface Found {
  nodes: number[];
  ports: number[];
  flows: number[];
}

/** Nodes and ports whose name contains every word, the busiest first, and flows by number, host or traffic entry. A node of
 * just that name comes first. A number, with `flow` before it or not, is that flow and nothing else, if there is one. */
export function search(run: Run, wanted: string): Found {
  const needles = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (!needles.length) return { nodes: [], ports: [], flows: [] };
  const number = /^(?:flow\s*)?(\d+)$/.exec(needles.join(" "))?.[1];
  if (number !== undefined && run.row(Number(number)) >= 0) return { nodes: [], ports: [], flows: [Number(number)] };
  const matches = (text: string) => needles.every((needle) => text.toLowerCase().includes(needle));
  const whole = run.header.nodes.findIndex((name) => name.toLowerCase() === needles.join(" "));
  const nodes = new Set(whole >= 0 ? [whole] : []);
  const ports: number[] = [];
  for (const port of run.byLoad) {
    if (ports.length < MOST && matches(run.label(port))) ports.push(port);
    // A node is as busy as its busiest port.
    if (nodes.size < MOST && matches(run.header.nodes[run.node[port]] ?? "")) nodes.add(run.node[port]);
  }
  const flows: number[] = [];
  const numbers = run.column("flows.flow");
  for (let row = 0; row < numbers.length && flows.length < MOST; row++) {
    if (matches(`flow ${search.words(run, numbers[row])}`)) flows.push(numbers[row]);
  }
  return { nodes: [...nodes], ports, flows };
}

/** What is meant by what was typed, if it is entered as it is: a node of that name, else the busiest port, else a flow. */
export function meant(run: Run, { nodes, ports, flows }: Found, wanted: string): { node: number; port: number; flow: number } {
  const none = { node: -1, port: -1, flow: -1 };
  const named = nodes.find((node) => run.header.nodes[node].toLowerCase() === wanted.trim().toLowerCase());
  if (named !== undefined) return { ...none, node: named };
  if (ports.length) return { ...none, port: ports[0] };
  return nodes.length ? { ...none, node: nodes[0] } : { ...none, flow: flows[0] ?? -1 };
}

/** The egress ports of a node and those towards it, the busiest first. */
export function neighbours(run: Run, node: number): { from: number[]; to: number[] } {
  const own = run.byLoad.filter((port) => run.node[port] === node);
  return { from: own, to: run.byLoad.filter((port) => run.peer[port] === node && run.node[port] !== node) };
}

/** What a flow is, in a few words: "web h0 → h5". */
search.words = (run: Run, flow: number): string => {
  const row = run.row(flow);
  if (row < 0) return "";
  const [traffic, src, dst] = ["traffic", "src", "dst"].map((name) => run.column(`flows.${name}`)[row]);
  return `${run.header.traffic[traffic]} ${run.header.nodes[src]} → ${run.header.nodes[dst]}`;
};

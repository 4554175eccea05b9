// Ports and flows by what a user types.
import type { Run } from "./run";

const MOST = 30;

/** Ports whose label contains every word, the busiest first, and flows by number, host or traffic entry. A number, with `flow` before it or
 * not, is that flow and nothing else, if there is one. */
export function search(run: Run, wanted: string): { ports: number[]; flows: number[] } {
  const needles = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  if (!needles.length) return { ports: [], flows: [] };
  const number = /^(?:flow\s*)?(\d+)$/.exec(needles.join(" "))?.[1];
  if (number !== undefined && run.row(Number(number)) >= 0) return { ports: [], flows: [Number(number)] };
  const matches = (text: string) => needles.every((needle) => text.toLowerCase().includes(needle));
  const ports: number[] = [];
  for (const port of run.byLoad) if (ports.length < MOST && matches(run.label(port))) ports.push(port);
  const flows: number[] = [];
  const numbers = run.column("flows.flow");
  for (let row = 0; row < numbers.length && flows.length < MOST; row++) {
    if (matches(`flow ${search.words(run, numbers[row])}`)) flows.push(numbers[row]);
  }
  return { ports, flows };
}

/** What a flow is, in a few words: "web h0 → h5". */
search.words = (run: Run, flow: number): string => {
  const row = run.row(flow);
  if (row < 0) return "";
  const [traffic, src, dst] = ["traffic", "src", "dst"].map((name) => run.column(`flows.${name}`)[row]);
  return `${run.header.traffic[traffic]} ${run.header.nodes[src]} → ${run.header.nodes[dst]}`;
};

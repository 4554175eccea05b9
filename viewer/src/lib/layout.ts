// Where the nodes of a network are drawn: by tiers counted from the hosts up; where switches are joined within a tier rather than
// between tiers, on a grid (torus, mesh) or in a ring (groups of a dragonfly). Made from the links, with the places that the
// topology tells if it does, so that any network has a picture.
import type { Run } from "./run";

/** A picture's coordinates: x and y from 0 to 1, y downwards. */
export interface Layout {
  kind: "tiers" | "grid" | "ring";
  x: Float64Array;
  y: Float64Array;
  /** Tier of each node: 0 for hosts. */
  tier: Int32Array;
  hosts: number[];
  /** Distance between neighbouring hosts, in the unit of x. */
  pitch: number;
  /** The least distance between two nodes of a tier, in the unit of x. */
  room: Float64Array;
}

interface Graph {
  count: number;
  near: number[][];
}

/** The nodes and who is next to whom. */
export function graph(run: Pick<Run, "header" | "ports" | "node" | "peer" | "drain">): Graph {
  const count = run.header.nodes.length;
  const near: number[][] = Array.from({ length: count }, () => []);
  for (let port = 0; port < run.ports; port++) {
    if (!run.drain[port] && run.node[port] !== run.peer[port]) near[run.node[port]].push(run.peer[port]);
  }
  return { count, near };
}

/** Tiers: hosts, which have one link, are 0; a switch is one above the nearest of its neighbours that has a tier. */
export function tiers({ count, near }: Graph): Int32Array {
  const tier = new Int32Array(count).fill(-1);
  let level = Array.from({ length: count }, (_, node) => node).filter((node) => near[node].length <= 1);
  for (const node of level) tier[node] = 0;
  for (let above = 1; level.length; above++) {
    const next: number[] = [];
    for (const node of level) {
      for (const peer of near[node]) {
        if (tier[peer] < 0) {
          tier[peer] = above;
          next.push(peer);
        }
      }
    }
    level = next;
  }
  // What hangs together with no host.
  return tier.map((t) => Math.max(t, 0));
}

/** The layout of a run's network. */
export function layout(run: Pick<Run, "header" | "ports" | "node" | "peer" | "drain">): Layout {
  const found = graph(run);
  const { nodes, places: told } = run.header;
  const tier = told ? Int32Array.from(told.tier) : tiers(found);
  const switches = [...tier.keys()].filter((node) => tier[node] > 0);
  const joins = switches.flatMap((node) => found.near[node].filter((peer) => tier[peer] > 0).map((peer) => [node, peer]));
  const within = joins.filter(([a, b]) => tier[a] === tier[b]).length;
  const widest = Math.max(0, ...switches.map((node) => found.near[node].filter((peer) => tier[peer] > 0).length));
  const turn = within * 2 > joins.length && widest === 2 ? closed(found.near, tier, switches) : [];
  if (turn.length > 2) return ring(found, tier, switches, switches.map((node) => [0, turn.indexOf(node)]));
  // A chain has a picture by tiers, too.
  if (within * 2 <= joins.length || widest <= 2) return byTiers(found, tier, switches);
  const at = told ? switches.map((node) => told.at[node]) : [];
  const dimensions = at[0]?.length ?? 0;
  const placed = dimensions > 0 && at.every((place) => place.length === dimensions);
  if (placed && run.header.facts.topology === "dragonfly") return ring(found, tier, switches, at);
  return grid(placed && dimensions > 1 ? cells(at) : places(switches.map((node) => nodes[node])), found, tier, switches);
}

/** The switches in the order of the one ring that they form; empty if they form none. */
function closed(near: number[][], tier: Int32Array, switches: number[]): number[] {
  const beside = (node: number) => [...new Set(near[node].filter((peer) => tier[peer] > 0))];
  if (switches.some((node) => beside(node).length !== 2)) return [];
  const order = [switches[0]];
  for (let next: number | undefined = beside(switches[0])[0]; next !== undefined && next !== switches[0]; ) {
    const before = order[order.length - 1];
    order.push(next);
    next = beside(next).find((peer) => peer !== before);
  }
  return order.length === switches.length ? order : [];
}

function byTiers({ count, near }: Graph, tier: Int32Array, switches: number[]): Layout {
  const x = new Float64Array(count);
  const hosts = hostOrder(count, near, tier);
  const leafOf = (host: number) => near[host][0] ?? host;
  let at = 0;
  const gap = hosts.length > 1 ? 1 : 0;
  hosts.forEach((host, i) => {
    if (i > 0) at += leafOf(host) === leafOf(hosts[i - 1]) ? 1 : 1 + gap;
    x[host] = at;
  });
  const span = Math.max(at, 1);
  const pitch = 1 / (span + 2);
  for (const host of hosts) x[host] = at === 0 ? 0.5 : (x[host] + 1) * pitch;
  const top = Math.max(0, ...tier);
  const reach = extents(near, tier, x, top);
  for (let level = 1; level <= top; level++) {
    place(switches.filter((node) => tier[node] === level), reach, x);
  }
  const y = Float64Array.from(tier, (t) => (top === 0 ? 0.5 : 1 - t / top));
  const room = Float64Array.from({ length: top + 1 }, (_, level) => closest(tier, level, x));
  return { kind: "tiers", x, y, tier, hosts, pitch, room };
}

/** Hosts together with their switch, switches in the order of the nodes. */
function hostOrder(count: number, near: number[][], tier: Int32Array): number[] {
  const hosts = Array.from({ length: count }, (_, node) => node).filter((node) => tier[node] === 0);
  const leaf = (host: number) => near[host][0] ?? -1;
  return hosts.sort((a, b) => leaf(a) - leaf(b) || a - b);
}

/** For each node the leftmost and the rightmost host below it. */
function extents(near: number[][], tier: Int32Array, x: Float64Array, top: number): [number, number][] {
  const reach: [number, number][] = Array.from(x, (value) => [value, value]);
  for (let level = 1; level <= top; level++) {
    near.forEach((peers, node) => {
      if (tier[node] !== level) return;
      const below = peers.filter((peer) => tier[peer] === level - 1);
      if (!below.length) return;
      reach[node] = [Math.min(...below.map((b) => reach[b][0])), Math.max(...below.map((b) => reach[b][1]))];
    });
  }
  return reach;
}

/** One tier: nodes above the middle of what is below them; those with the same below share its width. */
function place(nodes: number[], reach: [number, number][], x: Float64Array): void {
  const groups = new Map<string, number[]>();
  for (const node of nodes) {
    const key = reach[node].map((value) => value.toFixed(6)).join(" ");
    groups.set(key, [...(groups.get(key) ?? []), node]);
  }
  for (const group of groups.values()) {
    const [left, right] = reach[group[0]];
    group.forEach((node, i) => {
      x[node] = left + ((right - left) * (i + 0.5)) / group.length;
    });
  }
  spread(nodes, x);
}

/** Pushes apart what would stand on each other, and keeps it in the picture. */
function spread(nodes: number[], x: Float64Array): void {
  const ordered = [...nodes].sort((a, b) => x[a] - x[b] || a - b);
  const least = Math.min(0.055, 0.96 / Math.max(1, ordered.length));
  for (let i = 1; i < ordered.length; i++) x[ordered[i]] = Math.max(x[ordered[i]], x[ordered[i - 1]] + least);
  let limit = 0.995;
  for (let i = ordered.length - 1; i >= 0; i--) {
    x[ordered[i]] = Math.min(x[ordered[i]], limit);
    limit = x[ordered[i]] - least;
  }
}

function closest(tier: Int32Array, level: number, x: Float64Array): number {
  const places = [...x].filter((_, node) => tier[node] === level).sort((a, b) => a - b);
  return Math.min(1, ...places.slice(1).map((place, i) => place - places[i]));
}

/** Switches at these columns and rows; hosts below their switch. */
function grid(place: [number, number][], { count, near }: Graph, tier: Int32Array, switches: number[]): Layout {
  const columns = 1 + Math.max(...place.map(([column]) => column));
  const rows = 1 + Math.max(...place.map(([, row]) => row));
  const x = new Float64Array(count).fill(0.5);
  const y = new Float64Array(count).fill(0.5);
  // Rows and columns are bent a little, so that a link around shows beside those between.
  const bend = (i: number, of: number) => (of > 2 ? ((2 * i) / (of - 1) - 1) ** 2 - 0.5 : 0);
  switches.forEach((node, i) => {
    const [column, row] = place[i];
    x[node] = (column + 0.5 + 0.24 * bend(row, rows)) / columns;
    y[node] = (row + 0.45 + 0.24 * bend(column, columns)) / rows;
  });
  const hosts = hostOrder(count, near, tier);
  let pitch = 1 / columns;
  for (const node of switches) {
    const own = near[node].filter((peer) => tier[peer] === 0).sort((a, b) => a - b);
    const step = 0.7 / columns / Math.max(1, own.length);
    if (own.length) pitch = Math.min(pitch, step);
    own.forEach((host, i) => {
      x[host] = x[node] + (i - (own.length - 1) / 2) * step + 0.16 / columns;
      y[host] = y[node] + 0.3 / rows;
    });
  }
  const room = new Float64Array(1 + Math.max(0, ...tier)).fill(0.6 / columns);
  return { kind: "grid", x, y, tier, hosts, pitch, room };
}

/** Switches around a ring, group by group; hosts outside. */
function ring({ count, near }: Graph, tier: Int32Array, switches: number[], at: number[][]): Layout {
  const order = switches.map((node, i) => ({ node, at: at[i] })).sort((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1]);
  const groups = 1 + Math.max(...at.map(([group]) => group));
  // Between groups there is room; a single one goes all the way round.
  const slots = order.length + (groups > 1 ? groups * 1.5 : 0);
  const x = new Float64Array(count).fill(0.5);
  const y = new Float64Array(count).fill(0.5);
  const put = (node: number, turn: number, radius: number) => {
    x[node] = 0.5 + 0.5 * radius * Math.sin(2 * Math.PI * turn);
    y[node] = 0.5 - 0.5 * radius * Math.cos(2 * Math.PI * turn);
  };
  order.forEach(({ node, at: [group] }, i) => {
    const turn = (i + 1.5 * group) / slots;
    put(node, turn, 0.78);
    const own = near[node].filter((peer) => tier[peer] === 0).sort((a, b) => a - b);
    own.forEach((host, j) => put(host, turn + ((j + 0.5) / own.length - 0.5) * (0.8 / slots), 0.98));
  });
  const room = new Float64Array(1 + Math.max(0, ...tier)).fill(2 / slots);
  return { kind: "ring", x, y, tier, hosts: hostOrder(count, near, tier), pitch: 1 / slots, room };
}

/** Column and row of coordinates: of two the second and the first; of more the first ones make blocks side by side. */
function cells(at: number[][]): [number, number][] {
  const size = at[0].map((_, d) => 1 + Math.max(...at.map((place) => place[d])));
  const last = size.length - 1;
  return at.map((place) => {
    const block = place.slice(0, -2).reduce((sum, value, d) => sum * size[d] + value, 0);
    return [block * (size[last] + (last > 1 ? 1 : 0)) + place[last], place[last - 1]];
  });
}

/** Column and row of each name: its last number and the ones before it, if every place is taken once; else row by row. */
export function places(names: string[]): [number, number][] {
  const numbers = names.map((name) => (name.match(/\d+/g) ?? []).map(Number));
  const length = numbers[0]?.length ?? 0;
  if (length >= 2 && numbers.every((list) => list.length === length)) {
    const sizes = Array.from({ length }, (_, d) => 1 + Math.max(...numbers.map((list) => list[d])));
    // Of three numbers the first two share the rows, with a free row between their blocks.
    const found = numbers.map((list): [number, number] => [
      list[length - 1],
      list.slice(0, -1).reduce((row, value, d) => row * (sizes[d] + (d > 0 ? 1 : 0)) + value, 0),
    ]);
    if (new Set(found.map(String)).size === names.length) return found;
  }
  const columns = Math.ceil(Math.sqrt(names.length * 1.6));
  return names.map((_, i) => [i % columns, Math.floor(i / columns)]);
}

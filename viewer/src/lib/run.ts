// A run with its tables found by port, flow and time: what stood where at a moment.
import type { Column, Header, Packed } from "./format";
import { after, ByPort, Spans } from "./spans";

/** What a link is drawn as. */
export enum State {
  Free,
  Congested,
  Undetermined,
  Paused,
}

/** What is shown of a port: what its detector says, or what the simulation itself knows. */
export type Lens = "detector" | "truth";

const EMPTY: Column = new Float64Array(0);

/** One link of a congestion tree at a moment. */
export interface Branch {
  port: number;
  depth: number;
}

export interface Root {
  port: number;
  branches: number;
  depth: number;
  flows: number;
  heldUs: number;
  crowdUs: number;
}

export class Run {
  readonly header: Header;
  readonly ports: number;
  readonly tick: number;
  /** End of the run in ticks. */
  readonly end: number;
  readonly node: Column;
  readonly peer: Column;
  readonly drain: Column;
  readonly gates: Spans;
  readonly states: Spans;
  readonly long: Spans;
  readonly held: Spans;
  readonly trees: Spans;
  readonly roots: Root[];
  /** Ports that have data of queues and the longest of all queues, for bars. */
  readonly peakQueue: number;
  private readonly times: Column;
  private readonly lengths: Column;
  private readonly lastPoint: Int32Array;
  private readonly queueBy: ByPort;
  private readonly marksBy: ByPort;
  private readonly waitsBy: ByPort;
  private readonly ratesBy: ByPort;
  private readonly treesOf = new Map<number, Int32Array>();
  private readonly flowRow: Map<number, number>;
  /** For so many ticks after a point a queue is taken to be as long as there, if nothing else tells it. */
  readonly stale: number;
  /** Ports that have points of queues. */
  readonly queued: Int32Array;
  /** Ports at which anything that is drawn ever happens. */
  readonly lively: Int32Array;

  constructor(private readonly packed: Packed) {
    const header = (this.header = packed.header);
    const ports = (this.ports = header.ports.length);
    this.tick = header.tick_ps;
    this.end = header.end_ps / header.tick_ps;
    this.node = this.column("ports.node");
    this.peer = this.column("ports.peer");
    this.drain = this.column("ports.drain");
    this.gates = this.spans("gates");
    this.states = this.spans("states");
    this.long = this.spans("long");
    this.held = this.spans("held");
    this.trees = this.spans("trees");
    [this.times, this.lengths] = [this.column("queues.time"), this.column("queues.bytes")];
    this.lastPoint = new Int32Array(ports).fill(-1);
    this.queueBy = new ByPort(this.column("queues.port"), ports);
    this.marksBy = new ByPort(this.column("marks.port"), ports);
    const flows = this.column("flows.flow");
    this.flowRow = new Map(Array.from(flows, (flow, row) => [flow, row]));
    const most = flows.reduce((a, b) => Math.max(a, b), -1) + 1;
    this.waitsBy = new ByPort(this.column("waits.flow"), most);
    this.ratesBy = new ByPort(this.column("rates.flow"), most);
    this.peakQueue = this.column("queues.bytes").reduce((a, b) => Math.max(a, b), 0);
    this.stale = Math.max(50e6 / this.tick, this.end / 200);
    const every = Int32Array.from({ length: ports }, (_, port) => port);
    const some = (first: Int32Array) => (port: number) => first[port + 1] > first[port];
    this.queued = every.filter(some(this.queueBy.first));
    const any = [this.gates, this.states, this.long, this.held].map((spans) => (port: number) => spans.rows(port)[1] > spans.rows(port)[0]);
    this.lively = every.filter((port) => [some(this.queueBy.first), ...any].some((has) => has(port)));
    this.roots = this.readRoots();
    this.indexTrees();
  }

  /** A column by name; empty if the run has none. */
  column(name: string): Column {
    return this.packed.columns.get(name) ?? EMPTY;
  }

  private spans(table: string): Spans {
    const port = this.column(`${table}.port`);
    return new Spans(port, this.column(`${table}.start`), this.column(`${table}.length`), this.ports);
  }

  private readRoots(): Root[] {
    const port = this.column("roots.port");
    const read = (name: string) => this.column(`roots.${name}`);
    const [branches, depth, flows] = [read("branches"), read("depth"), read("flows")];
    const [held, crowd] = [read("weighted_us"), read("crowd_us")];
    return Array.from(port, (p, i) => ({
      port: p,
      branches: branches[i],
      depth: depth[i],
      flows: flows[i],
      heldUs: held[i],
      crowdUs: crowd[i],
    })).filter((root) => root.port >= 0);
  }

  private indexTrees(): void {
    const root = this.column("trees.root");
    const rows = new Map<number, number[]>();
    for (let i = 0; i < root.length; i++) {
      const list = rows.get(root[i]);
      if (list) list.push(i);
      else rows.set(root[i], [i]);
    }
    for (const [port, list] of rows) this.treesOf.set(port, Int32Array.from(list));
  }

  /** What a port is named: its alias with its label, such as "P2 L0->T2". */
  label(port: number): string {
    const label = this.header.ports[port] ?? "?";
    const alias = this.header.aliases[label];
    return alias ? `${alias} ${label}` : label;
  }

  /** Whether the gate of a port is closed at a time in ticks. */
  paused(port: number, time: number): boolean {
    return this.gates.covers(port, time);
  }

  /** What a port is taken for at a time, whatever its gate: by its detector, or by who knows. Never `Paused`. */
  verdict(port: number, time: number, lens: Lens): State {
    if (lens === "truth" || !this.detects) {
      if (this.held.covers(port, time)) return State.Undetermined;
      const row = this.long.at(port, time);
      return row >= 0 && !this.column("long.held")[row] ? State.Congested : State.Free;
    }
    const row = this.states.at(port, time);
    if (row >= 0) return this.column("states.state")[row] === 1 ? State.Congested : State.Undetermined;
    return !this.judges && this.long.covers(port, time) ? State.Congested : State.Free;
  }

  /** The state of a port: paused while its gate is closed, else its verdict. */
  state(port: number, time: number, lens: Lens): State {
    return this.paused(port, time) ? State.Paused : this.verdict(port, time, lens);
  }

  /** Whether the run knows who was held, so that there is a truth to show. */
  get knows(): boolean {
    return this.packed.columns.has("held.port");
  }

  /** Whether any gate was ever closed. */
  get closes(): boolean {
    return this.gates.count > 0;
  }

  /** The share of its rate that a port sent at, on average over the run. */
  use(port: number): number {
    const [sent, mbps] = [this.column("ports.sent_bytes")[port] ?? 0, this.column("ports.rate_mbps")[port] ?? 0];
    return mbps > 0 ? (sent * 8e6) / mbps / this.header.end_ps : 0;
  }

  private loaded: number[] | null = null;

  /** Ports by how busy they were: the longest queue first, then the most bytes sent. */
  get byLoad(): number[] {
    const [peak, sent] = [this.column("ports.peak_queue_bytes"), this.column("ports.sent_bytes")];
    this.loaded ??= Array.from({ length: this.ports }, (_, port) => port).sort((a, b) => peak[b] - peak[a] || sent[b] - sent[a] || a - b);
    return this.loaded;
  }

  /** Whether there is a detector at all. */
  get detects(): boolean {
    return this.header.facts.detector !== "none";
  }

  /** Whether the run's detector has states of its own; one that looks at queues alone has none. */
  get judges(): boolean {
    return this.states.count > 0 || this.header.facts.detector === "tcd";
  }

  /** Bytes in a port's queue at a time: between known points that are close, else 0. */
  queue(port: number, time: number): number {
    const [from, to] = [this.queueBy.first[port], this.queueBy.first[port + 1]];
    // While time goes on, the last point is mostly the one of the frame before.
    let last = this.lastPoint[port];
    const still = last >= from && last < to && this.times[last] <= time && !(this.times[last + 1] <= time && last + 1 < to);
    if (!still) this.lastPoint[port] = last = after(this.times, from, to, time) - 1;
    return last < from ? 0 : this.between(last, to, time);
  }

  /** The rows of a port's queue, as [from, to). */
  queueRows(port: number): [number, number] {
    return [this.queueBy.first[port], this.queueBy.first[port + 1]];
  }

  /** Bytes in a queue at a time from its point in row `last` to the next one; its rows end at `to`. */
  between(last: number, to: number, time: number): number {
    const { times, lengths: bytes } = this;
    const next = last + 1;
    if (next === to) return time - times[last] < this.stale ? bytes[last] : 0;
    const gap = times[next] - times[last];
    // Points between equal ones were left out.
    if (gap > this.stale && bytes[next] !== bytes[last]) return time - times[last] < this.stale ? bytes[last] : 0;
    return bytes[last] + ((bytes[next] - bytes[last]) * (time - times[last])) / Math.max(1, gap);
  }

  /** The points of a port's queue: times in µs and bytes. */
  queuePoints(port: number): { us: Float64Array; bytes: Float64Array } {
    const [from, to] = [this.queueBy.first[port], this.queueBy.first[port + 1]];
    const scale = this.tick / 1e6;
    const us = Float64Array.from(this.column("queues.time").subarray(from, to), (t) => t * scale);
    return { us, bytes: Float64Array.from(this.column("queues.bytes").subarray(from, to)) };
  }

  /** Marks of a port in bins: the bin's middle in µs, CE and UE. */
  marks(port: number): { us: Float64Array; ce: Float64Array; ue: Float64Array } {
    const [from, to] = [this.marksBy.first[port], this.marksBy.first[port + 1]];
    const width = this.header.bin_ps / 1e6;
    return {
      us: Float64Array.from(this.column("marks.bin").subarray(from, to), (bin) => (bin + 0.5) * width),
      ce: Float64Array.from(this.column("marks.ce").subarray(from, to)),
      ue: Float64Array.from(this.column("marks.ue").subarray(from, to)),
    };
  }

  /** Rates that the reaction point of a flow allowed: µs and Mbps; empty if they were not sampled. */
  rates(flow: number): { us: Float64Array; mbps: Float64Array } {
    const [from, to] = [this.ratesBy.first[flow] ?? 0, this.ratesBy.first[flow + 1] ?? 0];
    const scale = this.tick / 1e6;
    const us = Float64Array.from(this.column("rates.time").subarray(from, to), (t) => t * scale);
    return { us, mbps: Float64Array.from(this.column("rates.mbps").subarray(from, to)) };
  }

  /** The branches of a root's tree at a time. */
  tree(root: number, time: number): Branch[] {
    const rows = this.treesOf.get(root);
    if (!rows) return [];
    const found: Branch[] = [];
    const seen = new Set<number>();
    const { start, end, port } = this.trees;
    const depth = this.column("trees.depth");
    for (const row of rows) {
      if (start[row] > time || end[row] <= time || seen.has(port[row])) continue;
      seen.add(port[row]);
      found.push({ port: port[row], depth: depth[row] });
    }
    return found;
  }

  /** The root with the largest tree at a time, counted in branches; -1 if there is no tree. */
  largestRoot(time: number): number {
    let [best, size] = [-1, 0];
    for (const root of this.treesOf.keys()) {
      const branches = this.tree(root, time).length;
      if (branches > size) [best, size] = [root, branches];
    }
    return best;
  }

  /** Whether a port is a root at a time: its queue is long and nobody holds it. */
  isRoot(port: number, time: number): boolean {
    return this.state(port, time, "truth") === State.Congested;
  }

  /** The row of a flow among those listed; -1 if it is not. */
  row(flow: number): number {
    return this.flowRow.get(flow) ?? -1;
  }

  /** Flows that fed a root, the most first, as [flow, share]. */
  feeders(root: number): [number, number][] {
    const roots = this.column("feeding.root");
    const found: [number, number][] = [];
    for (let i = 0; i < roots.length; i++) {
      if (roots[i] === root) found.push([this.column("feeding.flow")[i], this.column("feeding.share")[i]]);
    }
    return found.sort((a, b) => b[1] - a[1]);
  }

  /** Where followed packets of a flow waited, as rows of the waits, in the order in which they came there. */
  waits(flow: number): { port: number; packets: number; mean: number }[] {
    const [from, to] = [this.waitsBy.first[flow] ?? 0, this.waitsBy.first[flow + 1] ?? 0];
    const [port, packets, mean] = ["port", "packets", "mean"].map((name) => this.column(`waits.${name}`));
    return Array.from({ length: to - from }, (_, i) => ({
      port: port[from + i],
      packets: packets[from + i],
      mean: mean[from + i],
    }));
  }

  /** Whether a flow, by row, is under way at a time. */
  underWay(row: number, time: number): boolean {
    const start = this.column("flows.start")[row];
    const finish = this.column("flows.finish")[row];
    return start >= 0 && start <= time && (finish < 0 || finish >= time);
  }
}

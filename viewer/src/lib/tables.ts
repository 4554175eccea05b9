// A run made of the tables of its results folder, as python/backwater/view does it, but for blame.
import { faults } from "./dropped_faults";
import { type Column, FORMAT, type Header, type Packed, type Places } from "./format";

/** A table: columns of numbers (null is none) or text. */
export interface Table {
  rows: number;
  columns: Record<string, (number | string | null)[]>;
}

/** Without these there is no picture. */
export const NEEDED = ["ports", "flows"];

const WHERE = ["node_index", "port_index", "priority"];

/** The columns that are read of each table. */
export const TABLES: Record<string, string[]> = {
  ports: [
    ...WHERE, "node", "peer", "port", "peer_index", "rate_bps", "sent_bytes", "pauses", "paused_ps", "ce_marks", "ue_marks",
    "peak_queue_bytes",
  ],
  flows: [
    "flow", "traffic", "src_index", "dst_index", "priority", "size_bytes", "start_ps", "finish_ps", "ideal_fct_ps", "packets",
    "received_bytes", "ce_packets", "ue_packets",
  ],
  pauses: ["time_ps", ...WHERE, "paused"],
  states: ["time_ps", ...WHERE, "state"],
  crowds: ["start_ps", "end_ps", ...WHERE],
  samples: ["time_ps", "node_index", "port_index", "queue_bytes"],
  marks: ["time_ps", "node_index", "port_index", "code"],
  rates: ["flow", "time_ps", "rate_bps"],
  waits: ["flow", "start_ps", "end_ps", "node_index", "port_index"],
  faults: ["fault", "kind", "event", "port", "time_ps", "last_ps", "packets"],
};

const STATES = ["non-congestion", "congestion", "undetermined", "judging"];
const MISSING: [string, string, string][] = [
  ["pauses", "probe.pauses=true", "when ports were paused"],
  ["states", "probe.states=true", "the states of the detectors"],
  ["marks", "probe.marks=true", "which packets were marked"],
  ["samples", "probe.sample=10us", "how long the queues were at regular times"],
];

/** Puts a run together. Throws an Error for one of another version. */
export function build(meta: Record<string, unknown>, tables: Record<string, Table>, notes: string[] = []): Packed {
  if (![1, 2, 3].includes(Number(meta.format)))
    throw new Error(`run.json is of format ${meta.format}, this page reads formats 1 to 3: run the scenario again`);
  const end = Math.max(1, Number(meta.sim_time_ps));
  const tick = 1000 * (1 + Math.floor(end / (1000 * (2 ** 31 - 2))));
  const columns = new Map<string, Column>();
  const put = (name: string, values: ArrayLike<number>) => columns.set(name, Float64Array.from(values));
  const network = ports(tables.ports, tick, put);
  const at = (table: Table, row: number) => network.of.get(key(table, row)) ?? -1;
  spans(put, "gates", closed(tables.pauses, at, end), tick);
  spans(put, "states", judged(tables.states, at, end), tick, "state");
  spans(put, "long", long(tables.crowds, at), tick, "held");
  points(put, tables.samples, at, tick);
  const bin = Math.max(tick, Math.floor(end / 1000));
  marks(put, tables.marks, at, bin);
  const traffic = flows(put, tables.flows, tick);
  rates(put, tables.rates, tick);
  waits(put, tables.waits, at, tick);
  const entries = (meta.scenario as { fault?: [] } | undefined)?.fault ?? [];
  const wrong = faults(put, tables.faults, entries, network.nodes, { end, tick });
  return { header: { ...header(meta, tables, network, traffic, { end, tick, bin }, notes), ...wrong }, columns };
}

type Put = (name: string, values: ArrayLike<number>) => void;
type At = (table: Table, row: number) => number;

interface Span {
  port: number;
  start: number;
  end: number;
  extra: number;
}

function key(table: Table, row: number): number {
  return Number(table.columns.node_index[row]) * 65536 + Number(table.columns.port_index[row]);
}

function order(table: Table, by: (row: number) => number): number[] {
  return Array.from({ length: table.rows }, (_, row) => row).sort((a, b) => by(a) - by(b) || a - b);
}

function ports(table: Table, tick: number, put: Put) {
  const groups = new Map<number, number[]>();
  for (const row of order(table, (r) => key(table, r))) {
    const at = key(table, row);
    groups.set(at, [...(groups.get(at) ?? []), row]);
  }
  const first = [...groups.values()].map(([row]) => row);
  const nodes: string[] = [];
  for (const row of first) {
    nodes[Number(table.columns.node_index[row])] = String(table.columns.node[row]);
    nodes[Number(table.columns.peer_index[row])] = String(table.columns.peer[row]);
  }
  const sum = (name: string) => [...groups.values()].map((rows) => rows.reduce((s, r) => s + Number(table.columns[name][r]), 0));
  put("ports.node", first.map((row) => Number(table.columns.node_index[row])));
  put("ports.peer", first.map((row) => Number(table.columns.peer_index[row])));
  put("ports.drain", first.map(() => 0));
  put("ports.rate_mbps", first.map((row) => Number(table.columns.rate_bps[row]) / 1e6));
  put("ports.paused", sum("paused_ps").map((ps) => ps / tick));
  for (const name of ["sent_bytes", "pauses", "ce_marks", "ue_marks"]) put(`ports.${name}`, sum(name));
  put("ports.peak_queue_bytes", [...groups.values()].map((rows) => Math.max(...rows.map((r) => Number(table.columns.peak_queue_bytes[r])))));
  return {
    nodes: Array.from(nodes, (name, index) => name ?? `node ${index}`),
    labels: first.map((row) => String(table.columns.port[row])),
    of: new Map([...groups.keys()].map((at, number) => [at, number])),
  };
}

/** What each queue was from one change to its next. */
function changes(table: Table, end: number, each: (row: number, start: number, until: number) => void): void {
  const queue = (row: number) => key(table, row) * 8 + Number(table.columns.priority[row]);
  const rows = order(table, queue);
  rows.forEach((row, i) => {
    const same = i + 1 < rows.length && queue(rows[i + 1]) === queue(row);
    each(row, Number(table.columns.time_ps[row]), same ? Number(table.columns.time_ps[rows[i + 1]]) : end);
  });
}

function closed(table: Table | undefined, at: At, end: number): Span[] {
  const found: Span[] = [];
  if (table) {
    changes(table, end, (row, start, until) => {
      if (table.columns.paused[row]) found.push({ port: at(table, row), start, end: until, extra: 0 });
    });
  }
  return merged(found);
}

function judged(table: Table | undefined, at: At, end: number): Span[] {
  const found: Span[] = [];
  if (table) {
    changes(table, end, (row, start, until) => {
      const state = STATES.indexOf(String(table.columns.state[row]));
      if (state > 0) found.push({ port: at(table, row), start, end: until, extra: state });
    });
  }
  return merged(found);
}

function long(table: Table | undefined, at: At): Span[] {
  if (!table) return [];
  const read = (name: string, row: number) => Number(table.columns[name][row]);
  return merged(
    Array.from({ length: table.rows }, (_, row) => ({
      port: at(table, row),
      start: read("start_ps", row),
      end: read("end_ps", row),
      extra: 0,
    })),
  );
}

/** Intervals of a port and kind that touch or overlap made one. */
function merged(found: Span[]): Span[] {
  const kept: Span[] = [];
  const ordered = found.filter(({ port }) => port >= 0).sort((a, b) => a.port - b.port || a.extra - b.extra || a.start - b.start);
  for (const span of ordered) {
    const last = kept[kept.length - 1];
    if (last && last.port === span.port && last.extra === span.extra && span.start <= last.end) {
      last.end = Math.max(last.end, span.end);
    } else kept.push({ ...span });
  }
  return kept.sort((a, b) => a.port - b.port || a.start - b.start);
}

function spans(put: Put, table: string, found: Span[], tick: number, extra?: string): void {
  put(`${table}.port`, found.map((span) => span.port));
  put(`${table}.start`, found.map((span) => Math.floor(span.start / tick)));
  put(`${table}.length`, found.map((span) => Math.floor(span.end / tick) - Math.floor(span.start / tick)));
  if (extra) put(`${table}.${extra}`, found.map((span) => span.extra));
}

function points(put: Put, table: Table | undefined, at: At, tick: number): void {
  const sums = new Map<string, [number, number, number]>();
  for (let row = 0; row < (table?.rows ?? 0); row++) {
    const [port, time] = [at(table!, row), Number(table!.columns.time_ps[row])];
    if (port < 0) continue;
    const known = sums.get(`${port} ${time}`);
    const size = Number(table!.columns.queue_bytes[row]);
    if (known) known[2] += size;
    else sums.set(`${port} ${time}`, [port, Math.floor(time / tick), size]);
  }
  const found = [...sums.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  ["port", "time", "bytes"].forEach((name, i) => put(`queues.${name}`, found.map((point) => point[i])));
}

function marks(put: Put, table: Table | undefined, at: At, bin: number): void {
  const counts = new Map<string, number[]>();
  for (let row = 0; row < (table?.rows ?? 0); row++) {
    const [port, number] = [at(table!, row), Math.floor(Number(table!.columns.time_ps[row]) / bin)];
    if (port < 0) continue;
    const name = `${port} ${number}`;
    const count = counts.get(name) ?? [port, number, 0, 0];
    count[table!.columns.code[row] === "CE" ? 2 : 3]++;
    counts.set(name, count);
  }
  const found = [...counts.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  ["port", "bin", "ce", "ue"].forEach((name, i) => put(`marks.${name}`, found.map((count) => count[i])));
}

function flows(put: Put, table: Table, tick: number): string[] {
  const rows = order(table, (row) => Number(table.columns.flow[row]));
  const names = [...new Set(rows.map((row) => String(table.columns.traffic[row])))];
  const number = new Map(names.map((name, i) => [name, i]));
  const read = (name: string, none: number) => rows.map((row) => (table.columns[name][row] === null ? none : Number(table.columns[name][row])));
  put("flows.traffic", rows.map((row) => number.get(String(table.columns.traffic[row])) ?? 0));
  put("flows.src", read("src_index", 0));
  put("flows.dst", read("dst_index", 0));
  for (const name of ["start", "finish", "ideal_fct"]) {
    put(`flows.${name}`, read(`${name}_ps`, -1).map((ps) => (ps < 0 ? -1 : Math.floor(ps / tick))));
  }
  put("flows.size_bytes", read("size_bytes", -1));
  for (const name of ["flow", "priority", "packets", "received_bytes", "ce_packets", "ue_packets"]) put(`flows.${name}`, read(name, 0));
  return names;
}

function rates(put: Put, table: Table | undefined, tick: number): void {
  const rows = table ? order(table, (row) => Number(table.columns.flow[row])) : [];
  put("rates.flow", rows.map((row) => Number(table!.columns.flow[row])));
  put("rates.time", rows.map((row) => Number(table!.columns.time_ps[row]) / tick));
  put("rates.mbps", rows.map((row) => Number(table!.columns.rate_bps[row]) / 1e6));
}

function waits(put: Put, table: Table | undefined, at: At, tick: number): void {
  const found = new Map<string, { flow: number; port: number; first: number; sum: number; packets: number }>();
  for (let row = 0; row < (table?.rows ?? 0); row++) {
    const [flow, port] = [Number(table!.columns.flow[row]), at(table!, row)];
    const [start, end] = [Number(table!.columns.start_ps[row]), Number(table!.columns.end_ps[row])];
    const known = found.get(`${flow} ${port}`) ?? { flow, port, first: start, sum: 0, packets: 0 };
    found.set(`${flow} ${port}`, { ...known, sum: known.sum + end - start, packets: known.packets + 1 });
  }
  const rows = [...found.values()].filter(({ port }) => port >= 0).sort((a, b) => a.flow - b.flow || a.first - b.first);
  put("waits.flow", rows.map((row) => row.flow));
  put("waits.port", rows.map((row) => row.port));
  put("waits.packets", rows.map((row) => row.packets));
  put("waits.mean", rows.map((row) => row.sum / row.packets / tick));
}

function places(meta: Record<string, unknown>, count: number): Places | null {
  const nodes = (meta.network as { nodes?: Partial<Places> } | undefined)?.nodes;
  const { tier, group, at } = nodes ?? {};
  return tier?.length === count && group?.length === count && at?.length === count ? { tier, group, at } : null;
}

function header(
  meta: Record<string, unknown>,
  tables: Record<string, Table>,
  network: { nodes: string[]; labels: string[] },
  traffic: string[],
  { end, tick, bin }: { end: number; tick: number; bin: number },
  notes: string[],
): Header {
  const scenario = (meta.scenario ?? {}) as Record<string, Record<string, unknown>>;
  const inner = (name: string) => (scenario.switch?.[name] as Record<string, unknown> | undefined)?.kind;
  const facts = {
    topology: scenario.topology?.kind,
    detector: inner("detector"),
    cc: scenario.cc?.kind,
    flow_control: scenario.switch?.["flow-control"],
    isolation: inner("isolation"),
    seed: meta.seed,
  };
  const aliases = Object.entries((meta.aliases ?? {}) as Record<string, string>).map(([alias, label]) => [label, alias]);
  const told = "congestion trees, culprits and victims: backwater view computes them from these files";
  return {
    format: FORMAT,
    backwater: String(meta.version ?? "?"),
    name: "dropped files",
    digest: String(meta.digest ?? "?"),
    complete: meta.status === "complete",
    end_ps: end,
    tick_ps: tick,
    bin_ps: bin,
    facts: Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Header["facts"],
    command: String(meta.command ?? ""),
    aliases: Object.fromEntries(aliases),
    nodes: network.nodes,
    places: places(meta, network.nodes.length),
    ports: network.labels,
    traffic,
    states: STATES,
    verdicts: [],
    queues: tables.samples?.rows ? "samples" : "none",
    flows: tables.flows.rows,
    opening: { root: -1, time_ps: -1, why: "pauses" },
    missing: MISSING.filter(([table]) => !tables[table]).map(([table, setting, lost]) => ({ table, setting, lost })),
    notes: [`not in the page: ${told}`, ...notes, ...caveats(meta.caveats)],
  };
}

/** The sentences of a run's caveats; an older run.json has nothing but them. */
function caveats(told: unknown): string[] {
  return ((told as (string | { message: string })[] | undefined) ?? []).map((one) => (typeof one === "string" ? one : one.message));
}

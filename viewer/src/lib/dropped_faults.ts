// Faults of dropped tables, as python/backwater/view/faults.py makes them, but for what flows and goodput tell of their cost.
import type { Header } from "./format";
import type { Table } from "./tables";
import { count, time } from "./text";

/** Of so many faults there is a lane, and a mark at the places. */
const MOST = 8;
/** What stands in the intervals of each kind; the first ones take nothing and send nothing meanwhile. */
const DEAD: Record<string, string> = { "link-down": "down", "switch-down": "down", "host-stop": "stopped" };
const WORDS: Record<string, string> = {
  ...DEAD, "link-slow": "slow", loss: "loses frames", gray: "loses packets", "pause-storm": "PAUSE without end", watchdog: "PAUSE not obeyed",
};
const BEGIN = ["down", "storm", "stopped", "watchdog-triggered"];
const END = ["up", "calm", "watchdog-restored"];

interface Entry {
  link?: string[];
  switch?: string;
  host?: string;
  at?: string;
  until?: string;
}

interface Row {
  fault: number | null;
  kind: string;
  event: string;
  port: string;
  time: number;
  last: number;
  packets: number;
}

/** A place (a node, or the two ends of a link) and from when to when something was wrong there. */
interface Wrong {
  place: string[];
  start: number;
  end: number;
}

/** The blocks of the header that tell of faults, and their columns. */
export function faults(
  put: (name: string, values: ArrayLike<number>) => void,
  table: Table | undefined,
  entries: Entry[],
  nodes: string[],
  { end, tick }: { end: number; tick: number },
): Pick<Header, "faults" | "lanes" | "lane_words"> {
  const told: NonNullable<Header["faults"]> = [];
  const lanes: NonNullable<Header["lanes"]> = [];
  const words: string[] = [];
  const marks: number[][] = [];
  const spans: number[][] = [];
  for (const rows of groups(table)) {
    const [{ fault, kind }] = rows;
    const name = fault === null ? "PFC watchdog" : `fault ${fault}: ${kind}`;
    const cost = packets(rows.filter((row) => row.event === "lost"));
    const found = wrong(rows, fault === null ? undefined : entries[fault], end);
    if (!words.includes(WORDS[kind])) words.push(WORDS[kind]);
    for (const { place, start, end: until } of found) {
      const [from, to] = [start, until].map((ps) => Math.floor(ps / tick));
      const [node, peer] = [nodes.indexOf(place[0]), nodes.indexOf(place[1] ?? "")];
      if (node >= 0) marks.push([told.length, node, peer, from, to - from]);
      spans.push([lanes.length, from, to - from, words.indexOf(WORDS[kind])]);
    }
    lanes.push({ name, meaning: `${name}: ${cost}`, of: -1 });
    told.push({ name, kind, dead: kind in DEAD, cost: [cost] });
  }
  ["fault", "node", "peer", "start", "length"].forEach((name, i) => put(`faults.${name}`, marks.map((mark) => mark[i])));
  ["lane", "start", "length", "word"].forEach((name, i) => put(`lanes.${name}`, spans.map((span) => span[i])));
  return { faults: told, lanes, lane_words: words };
}

/** The rows of each fault by time, the watchdog's last; of many faults those that lost most packets. */
function groups(table: Table | undefined): Row[][] {
  const found = new Map<string, Row[]>();
  for (let row = 0; row < (table?.rows ?? 0); row++) {
    const read = (name: string) => table!.columns[name][row];
    const fault = read("fault") === null ? null : Number(read("fault"));
    const known = found.get(String(fault)) ?? [];
    known.push({
      fault, kind: String(read("kind")), event: String(read("event")), port: String(read("port")),
      time: Number(read("time_ps")), last: Number(read("last_ps")), packets: Number(read("packets")),
    });
    found.set(String(fault), known);
  }
  const lost = (rows: Row[]) => rows.reduce((sum, row) => sum + row.packets, 0);
  const most = [...found.values()].sort((a, b) => lost(b) - lost(a)).slice(0, MOST);
  const number = (rows: Row[]) => rows[0].fault ?? Infinity;
  return most.map((rows) => rows.sort((a, b) => a.time - b.time)).sort((a, b) => (number(a) < number(b) ? -1 : 1));
}

function packets(lost: Row[]): string {
  const sum = lost.reduce((all, row) => all + row.packets, 0);
  if (!sum) return "no packet lost";
  const [first, last] = [Math.min(...lost.map((row) => row.time)), Math.max(...lost.map((row) => row.last))];
  return `${count(sum)} packet${sum > 1 ? "s" : ""} lost from ${time(first)} to ${time(last)}`;
}

/** When and where something was wrong. */
function wrong(rows: Row[], entry: Entry | undefined, end: number): Wrong[] {
  const events = rows.filter((row) => row.event !== "lost");
  if (!entry) {
    const ports = [...new Set(events.map((row) => row.port))].sort();
    return ports.flatMap((port) => pairs(events.filter((row) => row.port === port), end).map((pair) => ({ place: port.split("->"), ...pair })));
  }
  const place = entry.link ?? [entry.switch ?? entry.host ?? ""];
  if (rows[0].kind === "link-slow") {
    const times = [...new Set(events.map((row) => row.time))];
    return times.filter((_, i) => i % 2 === 0).map((start, i) => ({ place, start, end: times[2 * i + 1] ?? end }));
  }
  if (events.length) return pairs(events, end).map((pair) => ({ place, ...pair }));
  return [{ place, start: parsed(entry.at ?? "0ps"), end: Math.min(end, entry.until ? parsed(entry.until) : end) }];
}

/** Intervals from events that begin them to the next that ends them. */
function pairs(events: Row[], end: number): { start: number; end: number }[] {
  const times = (words: string[]) => [...new Set(events.filter((row) => words.includes(row.event)).map((row) => row.time))];
  const ends = times(END);
  return times(BEGIN).map((start) => ({ start, end: ends.find((time) => time > start) ?? end }));
}

/** A time as run.json has it, in ps. */
function parsed(text: string): number {
  const units: Record<string, number> = { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 };
  const [, number, unit] = /^([\d.]+)(ps|ns|us|ms|s)$/.exec(text) ?? ["", "0", "ps"];
  return Math.round(Number(number) * units[unit]);
}

// What the whole network did over time: the rows above the slider.
import { type Run, State } from "./run";
import { after } from "./spans";

/** What a row's height is. */
export type Unit = "bytes" | "rate" | "count";

/** One row: a curve over `bins` parts of the time, or two of them on top of each other. */
export interface Row {
  name: string;
  /** What its height means, in a sentence. */
  meaning: string;
  unit: Unit;
  curves: { values: Float64Array; colour: "queue" | "faint" | State }[];
}

/** Parts of the time that a curve has, in a window of any width: what it counts in each does not depend on that. */
export const BINS = 400;

/** The names of rows, those that say most first. */
export const ORDER = ["longest queue", "ports paused", "marks", "all queues", "goodput", "flows"];

/** The rows of a run until a time in ticks. */
export function rows(run: Run, bins: number, until: number): Row[] {
  const found: Row[] = [];
  const waiting = queues(run, bins, until);
  if (waiting) {
    const told = run.header.queues === "events" ? ", where a mark or a PAUSE tells it" : "";
    found.push({
      name: "longest queue",
      meaning: `the bytes in the longest egress queue of the network${told}`,
      unit: "bytes",
      curves: [{ values: waiting.longest, colour: "queue" }],
    });
  }
  if (run.closes) {
    found.push({
      name: "ports paused",
      meaning: "how many egress ports may not send, for a PAUSE or for want of credits",
      unit: "count",
      curves: [{ values: overTime(run.gates.start, run.gates.end, bins, until), colour: State.Paused }],
    });
  }
  const { ce, ue } = marks(run, bins, until);
  if (ce.some((count) => count > 0) || ue.some((count) => count > 0)) {
    found.push({
      name: "marks",
      meaning: `how many packets the switches marked in each ${bins}th of the time: CE, and on top of it UE`,
      unit: "count",
      curves: [
        { values: ce, colour: State.Congested },
        { values: ue, colour: State.Undetermined },
      ],
    });
  }
  const { underWay, mbps } = load(run, bins, until);
  if (waiting?.sampled) {
    found.push({
      name: "all queues",
      meaning: "the bytes in all egress queues together",
      unit: "bytes",
      curves: [{ values: waiting.all, colour: "queue" }],
    });
  }
  if (mbps.some((value) => value > 0)) {
    found.push({
      name: "goodput",
      meaning: "the payload that all flows together move, each at its mean rate from its start to its end",
      unit: "rate",
      curves: [{ values: mbps, colour: "faint" }],
    });
  }
  if (underWay.some((value) => value > 0)) {
    found.push({
      name: "flows",
      meaning: "how many flows are under way",
      unit: "count",
      curves: [{ values: underWay, colour: "faint" }],
    });
  }
  return found;
}

/** Of each part of the time the longest queue, and the bytes of all queues in its middle; null without any point. */
export function queues(run: Run, bins: number, until: number): { longest: Float64Array; all: Float64Array; sampled: boolean } | null {
  const [times, bytes] = [run.column("queues.time"), run.column("queues.bytes")];
  if (!run.peakQueue) return null;
  const [longest, all] = [new Float64Array(bins), new Float64Array(bins)];
  const width = until / bins;
  for (const port of run.queued) {
    const [from, to] = run.queueRows(port);
    for (let i = from; i < to; i++) {
      const bin = Math.min(bins - 1, Math.floor(times[i] / width));
      longest[bin] = Math.max(longest[bin], bytes[i]);
      // The middles of parts up to the next point.
      const next = i + 1 < to ? times[i + 1] : times[i] + run.stale;
      for (let at = Math.max(0, Math.ceil(times[i] / width - 0.5)); at < bins && (at + 0.5) * width < next; at++) {
        const value = run.between(i, to, (at + 0.5) * width);
        if (value === 0) continue;
        all[at] += value;
        longest[at] = Math.max(longest[at], value);
      }
    }
  }
  for (let bin = 0; bin < bins; bin++) all[bin] = Math.max(all[bin], longest[bin]);
  return { longest, all, sampled: run.header.queues === "samples" };
}

function marks(run: Run, bins: number, until: number): { ce: Float64Array; ue: Float64Array } {
  const [ce, ue] = [new Float64Array(bins), new Float64Array(bins)];
  const [bin, some, others] = ["bin", "ce", "ue"].map((name) => run.column(`marks.${name}`));
  const scale = (run.header.bin_ps / run.tick / until) * bins;
  for (let row = 0; row < bin.length; row++) {
    const at = Math.min(bins - 1, Math.floor((bin[row] + 0.5) * scale));
    ce[at] += some[row];
    ue[at] += others[row];
  }
  return { ce, ue };
}

/** Flows under way, and what they moved: of all flows if the page has it, else of those that it lists. */
export function load(run: Run, bins: number, until: number): { underWay: Float64Array; mbps: Float64Array } {
  const time = run.column("load.time");
  if (time.length) return stepped(run, time, bins, until);
  const [start, finish, received] = ["start", "finish", "received_bytes"].map((name) => run.column(`flows.${name}`));
  const known = Array.from(start.keys()).filter((row) => start[row] >= 0);
  const ends = known.map((row) => (finish[row] < 0 ? run.end : finish[row]));
  const starts = known.map((row) => start[row]);
  const each = known.map((row, i) => (received[row] * 8e6) / Math.max(1, (ends[i] - starts[i]) * run.tick));
  return { underWay: overTime(starts, ends, bins, until), mbps: overTime(starts, ends, bins, until, each) };
}

/** The values that hold from each of these times on, in the middle of each part. */
function stepped(run: Run, time: Float64Array, bins: number, until: number) {
  const [flows, rates] = [run.column("load.flows"), run.column("load.mbps")];
  const [underWay, mbps] = [new Float64Array(bins), new Float64Array(bins)];
  for (let bin = 0; bin < bins; bin++) {
    const row = after(time, 0, time.length, ((bin + 0.5) * until) / bins) - 1;
    if (row >= 0) [underWay[bin], mbps[bin]] = [flows[row], rates[row]];
  }
  return { underWay, mbps };
}

/** How many of these intervals cover each of `bins` parts of the time until `until`, on average; each counts `weight`. */
export function overTime(starts: ArrayLike<number>, ends: ArrayLike<number>, bins: number, until: number, weight?: ArrayLike<number>) {
  const sums = new Float64Array(bins);
  const width = until / bins;
  for (let i = 0; i < starts.length; i++) {
    const each = weight ? weight[i] : 1;
    const last = Math.min(bins - 1, Math.floor(ends[i] / width));
    for (let bin = Math.floor(starts[i] / width); bin <= last; bin++) {
      const covered = Math.min(ends[i], (bin + 1) * width) - Math.max(starts[i], bin * width);
      sums[bin] += (each * Math.max(0, covered)) / width;
    }
  }
  return sums;
}

/** Times at which an axis has a mark, in ps: at most `most` of them, at round numbers. */
export function ticks(end: number, most: number): number[] {
  const least = end / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((value) => value >= least * 0.999) ?? 10 * power;
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, i) => i * step);
}

/** The time in ticks at which most goes on: ports are paused, else bytes wait, else flows are under way; else the middle. */
export function busiest(run: Run): number {
  const bins = 2000;
  const waiting = run.closes ? null : queues(run, bins, run.end);
  const values = run.closes
    ? overTime(run.gates.start, run.gates.end, bins, run.end)
    : waiting
      ? waiting.all
      : load(run, bins, run.end).underWay;
  const most = values.reduce((best, value, bin) => (value > values[best] ? bin : best), 0);
  return values[most] > 0 ? ((most + 0.5) * run.end) / bins : run.end / 2;
}

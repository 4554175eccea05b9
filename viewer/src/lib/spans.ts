// Intervals of ports over time, found by port and time.
import type { Column } from "./format";

const NONE: Column = new Float64Array(0);

/** Rows of a table sorted by port, found by port. */
export class ByPort {
  readonly first: Int32Array;
  constructor(
    readonly port: Column,
    ports: number,
  ) {
    this.first = new Int32Array(ports + 1);
    for (const p of port) if (p >= 0 && p < ports) this.first[p + 1]++;
    for (let p = 0; p < ports; p++) this.first[p + 1] += this.first[p];
  }
}

/** Intervals of ports: sorted by port, then start. Times in ticks. */
export class Spans {
  readonly count: number;
  readonly start: Column;
  readonly end: Float64Array;
  private readonly by: ByPort;
  /** The longest interval of a port before or at each row: how far back an earlier one may still reach. */
  private readonly reach: Float64Array;

  constructor(
    readonly port: Column,
    start: Column,
    length: Column,
    ports: number,
  ) {
    this.count = port.length;
    this.start = start;
    this.end = Float64Array.from(start, (s, i) => s + length[i]);
    this.by = new ByPort(port, ports);
    this.reach = new Float64Array(this.count);
    for (let i = 0; i < this.count; i++) {
      const same = i > 0 && port[i - 1] === port[i];
      this.reach[i] = same ? Math.max(this.reach[i - 1], this.end[i]) : this.end[i];
    }
  }

  static empty(ports: number): Spans {
    return new Spans(NONE, NONE, NONE, ports);
  }

  /** The rows of a port, as [from, to). */
  rows(port: number): [number, number] {
    return [this.by.first[port] ?? 0, this.by.first[port + 1] ?? 0];
  }

  /** A row of the port that covers `time`, the latest to begin; -1 if none does. */
  at(port: number, time: number): number {
    const [from, to] = this.rows(port);
    for (let i = after(this.start, from, to, time) - 1; i >= from && this.reach[i] > time; i--) {
      if (this.end[i] > time) return i;
    }
    return -1;
  }

  /** Whether an interval of the port covers `time`. */
  covers(port: number, time: number): boolean {
    return this.at(port, time) >= 0;
  }
}

/** The first index in [from, to) whose value is greater than `value`; `to` if none is. */
export function after(values: Column, from: number, to: number, value: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

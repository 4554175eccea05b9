// Runs made by hand, written by FORMAT.md.
import { FORMAT, type Header, unpack } from "../src/lib/format";
import { Run } from "../src/lib/run";

export interface Stored {
  type: "i8" | "i16" | "i32" | "f32" | "f64";
  delta: boolean;
  values: number[];
}

const WRITE: Record<string, (values: number[]) => ArrayBufferView> = {
  i8: (values) => Int8Array.from(values),
  i16: (values) => Int16Array.from(values),
  i32: (values) => Int32Array.from(values),
  f32: (values) => Float32Array.from(values),
  f64: (values) => Float64Array.from(values),
};

/** The bytes of a run, before gzip. */
export function packed(header: Partial<Header>, columns: Record<string, Stored>): ArrayBuffer {
  const placed: Record<string, object> = {};
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const [name, { type, delta, values }] of Object.entries(columns)) {
    const view = WRITE[type]?.(values) ?? new Uint8Array(0);
    const raw = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    placed[name] = { type, delta, count: values.length, at };
    parts.push(raw, new Uint8Array(-raw.length & 7));
    at += raw.length + (-raw.length & 7);
  }
  const text = new TextEncoder().encode(JSON.stringify({ ...blank(), ...header, columns: placed }));
  const filled = new Uint8Array(text.length + (-text.length & 7)).fill(32);
  filled.set(text);
  const head = new Uint8Array(8);
  head.set([0x42, 0x57, 0x56, 0]);
  new DataView(head.buffer).setUint32(4, filled.length, true);
  const whole = new Uint8Array(8 + filled.length + at);
  let place = 0;
  for (const part of [head, filled, ...parts]) {
    whole.set(part, place);
    place += part.length;
  }
  return whole.buffer;
}

function blank(): Header {
  return {
    format: FORMAT,
    backwater: "0.1.0",
    name: "scene",
    digest: "0",
    complete: true,
    end_ps: 1_000_000_000,
    tick_ps: 1000,
    bin_ps: 1_000_000,
    facts: {},
    command: "",
    aliases: {},
    nodes: [],
    places: null,
    ports: [],
    traffic: [],
    states: ["non-congestion", "congestion", "undetermined", "judging"],
    verdicts: ["unseen", "unaffected", "victim", "culprit"],
    queues: "samples",
    flows: 0,
    opening: { root: -1, time_ps: 0, why: "middle" },
    missing: [],
    notes: [],
  };
}

/** A network of these links, two egress ports each, with whatever columns besides. */
export function run(links: [string, string][], columns: Record<string, number[]> = {}, header: Partial<Header> = {}): Run {
  const nodes = [...new Set(links.flat())];
  const ends = links.flatMap(([a, b]) => [[a, b], [b, a]]).map(([a, b]) => [nodes.indexOf(a), nodes.indexOf(b)]);
  const stored: Record<string, Stored> = {};
  const network = { "ports.node": ends.map(([a]) => a), "ports.peer": ends.map(([, b]) => b), "ports.drain": ends.map(() => 0) };
  for (const [name, values] of Object.entries({ ...network, ...columns })) stored[name] = { type: "f64", delta: false, values };
  const ports = ends.map(([a, b]) => `${nodes[a]}->${nodes[b]}`);
  return new Run(unpack(packed({ nodes, ports, ...header }, stored)));
}

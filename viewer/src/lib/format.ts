// The bytes of a run in the page, as FORMAT.md describes them.

/** Version of the format that this page reads. */
export const FORMAT = 1;
const MAGIC = 0x00565742; // "BWV\0", little endian

/** A column: doubles, whatever it was stored as, so that times and counts of bytes are exact up to 2**53. */
export type Column = Float64Array;

/** What is missing in a run: the table, the setting that would have it, and what the page lacks without. */
export interface Missing {
  table: string;
  setting: string;
  lost: string;
}

/** Where the topology says that nodes stand. */
export interface Places {
  tier: number[];
  group: (number | null)[];
  at: number[][];
}

/** The moment at which the page opens. */
export interface Opening {
  root: number;
  time_ps: number;
  ports?: number;
  why: "tree" | "pauses" | "queues" | "flows" | "middle";
}

/** What stands before the columns. */
export interface Header {
  format: number;
  backwater: string;
  name: string;
  /** In which settings the run differs from the one beside it, if `facts` do not tell. */
  title?: string;
  digest: string;
  complete: boolean;
  end_ps: number;
  tick_ps: number;
  bin_ps: number;
  facts: Record<string, string | number>;
  command: string;
  aliases: Record<string, string>;
  nodes: string[];
  places: Places | null;
  ports: string[];
  traffic: string[];
  states: string[];
  verdicts: string[];
  queues: "samples" | "events" | "none";
  flows: number;
  opening: Opening;
  /** Sentences on the roots that are not listed. */
  rest?: string[];
  missing: Missing[];
  notes: string[];
  summary?: Summary;
  /** The settings in which two runs side by side differ: key, and its value in each. */
  differs?: [string, string, string][];
  /** Jobs and collectives: a lane's name, what it shows, and the lane that it belongs to (-1: none). */
  lanes?: { name: string; meaning: string; of: number }[];
  lane_words?: string[];
  /** What went wrong: `dead` takes nothing and sends nothing meanwhile; what it cost, in sentences. */
  faults?: { name: string; kind: string; dead: boolean; cost: string[] }[];
}

/** What a run was and what came of it, in words. */
export interface Summary {
  /** Key and value. */
  settings: [string, string][];
  /** Tables: headings, and rows of cells. */
  tables: { title: string; headings: string[]; rows: string[][]; note?: string }[];
  totals: [string, string][];
  /** What made applications late, by their critical paths, in sentences. */
  late?: string[];
  /** What to change, in sentences. */
  advice: string[];
}

/** A run as it was read: its header, and its columns by name. */
export interface Packed {
  header: Header;
  columns: Map<string, Column>;
}

interface Placed {
  type: string;
  delta: boolean;
  count: number;
  at: number;
}

const STORED: Record<string, (raw: ArrayBuffer, at: number, count: number) => ArrayLike<number>> = {
  i8: (raw, at, count) => new Int8Array(raw, at, count),
  i16: (raw, at, count) => new Int16Array(raw, at, count),
  i32: (raw, at, count) => new Int32Array(raw, at, count),
  f32: (raw, at, count) => new Float32Array(raw, at, count),
  f64: (raw, at, count) => new Float64Array(raw, at, count),
};

/** Reads a run from the bytes under the gzip. Throws an Error that says what is wrong with it. */
export function unpack(raw: ArrayBuffer): Packed {
  if (raw.byteLength < 8) throw new Error("the data of the page is cut off");
  const view = new DataView(raw);
  if (view.getUint32(0, true) !== MAGIC) throw new Error("this is not the data of a Backwater run");
  const length = view.getUint32(4, true);
  if (8 + length > raw.byteLength) throw new Error("the data of the page is cut off");
  const { columns: placed, ...header } = parsed(new TextDecoder().decode(new Uint8Array(raw, 8, length)));
  if (header.format !== FORMAT) {
    throw new Error(
      `the run is in format ${header.format} of Backwater ${header.backwater ?? "?"}, this page reads format ${FORMAT}: ` +
        "write the page again with backwater view",
    );
  }
  const columns = new Map<string, Column>();
  for (const [name, place] of Object.entries(placed ?? {})) columns.set(name, column(raw, 8 + length, name, place));
  return { header, columns };
}

function parsed(text: string): Header & { columns?: Record<string, Placed> } {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("the data of the page is damaged");
  }
}

function column(raw: ArrayBuffer, base: number, name: string, place: Placed): Column {
  const stored = STORED[place.type];
  if (!stored) throw new Error(`column ${name} has the unknown type ${place.type}`);
  const bytes = Number(place.type.slice(1)) / 8;
  const whole = [place.at, place.count].every((value) => Number.isSafeInteger(value) && value >= 0);
  if (!whole || (base + place.at) % bytes) throw new Error(`column ${name} is damaged`);
  if (base + place.at + place.count * bytes > raw.byteLength) throw new Error(`column ${name} is cut off`);
  const values = stored(raw, base + place.at, place.count);
  if (!place.delta) return Float64Array.from(values);
  const summed = new Float64Array(place.count);
  let sum = 0;
  for (let i = 0; i < place.count; i++) summed[i] = sum += values[i];
  return summed;
}

/** Undoes base64 and gzip by what the browser has. */
export async function inflate(base64: string): Promise<ArrayBuffer> {
  const text = atob(base64.trim());
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

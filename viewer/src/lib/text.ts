// Numbers with their units, as the rest of Backwater writes them.

/** A time from ps: three digits and the unit that suits it. */
export function time(ps: number): string {
  const units: [number, string][] = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"]];
  for (const [size, unit] of units) if (Math.abs(ps) >= size) return `${digits(ps / size)} ${unit}`;
  return ps === 0 ? "0 s" : `${Math.round(ps)} ps`;
}

/** A time with as many decimals as a slider needs. */
export function clock(ps: number, end: number): string {
  const [size, unit] = end >= 1e12 ? [1e12, "s"] : end >= 1e9 ? [1e9, "ms"] : [1e6, "µs"];
  return `${(ps / size).toFixed(unit === "µs" ? 2 : 4)} ${unit}`;
}

/** Bytes. */
export function bytes(count: number): string {
  for (const [size, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "KB"]] as [number, string][]) {
    if (count >= size) return `${digits(count / size)} ${unit}`;
  }
  return `${Math.round(count)} B`;
}

/** A rate from Mbps. */
export function rate(mbps: number): string {
  return mbps >= 1e6 ? `${digits(mbps / 1e6)} Tbps` : mbps >= 1e3 ? `${digits(mbps / 1e3)} Gbps` : `${digits(mbps)} Mbps`;
}

/** A value of a row of the timeline. */
export function measured(value: number, unit: "bytes" | "rate" | "count"): string {
  return unit === "bytes" ? bytes(value) : unit === "rate" ? rate(value) : count(Math.ceil(value - 1e-6));
}

/** A text that may be broken between words, but not between a number and its unit. */
export function unbroken(cell: string): string {
  return cell.replace(/(\d) (?=[^\s(])/g, "$1\u00a0");
}

/** A count in groups of three. */
export function count(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A number at an axis: groups of three as in `count`, decimals as they are. */
export function axis(value: number): string {
  return Math.abs(value) >= 1000 ? count(value) : Number(value.toPrecision(6)).toString();
}

function digits(value: number): string {
  return value.toPrecision(3).includes("e") ? Math.round(value).toString() : Number(value.toPrecision(3)).toString();
}

const DETECTORS: Record<string, string> = { red: "ECN", "np-ecn": "NP-ECN", tcd: "TCD", fecn: "FECN", oracle: "oracle", none: "no detector" };
const CONTROLLERS: Record<string, string> = {
  dcqcn: "DCQCN",
  timely: "TIMELY",
  "ib-cc": "IB CC",
  swift: "Swift",
  hpcc: "HPCC",
  dctcp: "DCTCP",
  pcn: "PCN",
  none: "no congestion control",
};

/** What a run was, in a few words: "TCD · DCQCN · PFC". */
export function summary(facts: Record<string, string | number>): string {
  const detector = String(facts.detector ?? "");
  const cc = String(facts.cc ?? "");
  const isolation = String(facts.isolation ?? "none");
  const flow = String(facts.flow_control ?? "");
  return [
    DETECTORS[detector] ?? detector,
    isolation === "none" ? "" : isolation.toUpperCase(),
    CONTROLLERS[cc] ?? cc,
    flow === "pfc" ? "PFC" : flow === "none" ? "no flow control" : flow,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** A ratio with three digits. */
export function three(value: number): string {
  return digits(value);
}

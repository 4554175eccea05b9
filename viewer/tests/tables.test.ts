import { busiest } from "../src/lib/activity";
import { expect, test } from "vitest";
import { read } from "../src/lib/drop";
import { wrong } from "../src/lib/faults";
import { lanes } from "../src/lib/lanes";
import { Run, State } from "../src/lib/run";
import { build, type Table } from "../src/lib/tables";

function table(rows: Record<string, number | string | null>[]): Table {
  const names = Object.keys(rows[0] ?? {});
  return { rows: rows.length, columns: Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name])])) };
}

const port = (node: string, peer: string, node_index: number, peer_index: number, priority = 3) => ({
  node, peer, node_index, peer_index, priority, port: `${node}->${peer}`, port_index: 0, rate_bps: 4e10,
  sent_bytes: 10, pauses: 1, paused_ps: 5000, ce_marks: 2, ue_marks: 0, peak_queue_bytes: 7,
});
const flow = {
  flow: 0, traffic: "web", src_index: 0, dst_index: 1, priority: 3, size_bytes: null, start_ps: 0, finish_ps: null,
  ideal_fct_ps: null, packets: 1, received_bytes: 1, ce_packets: 0, ue_packets: 0,
};
const meta = { format: 1, sim_time_ps: 1e9, aliases: { P: "a->b" }, status: "complete", scenario: {}, digest: "d", seed: 1 };
const at = (time_ps: number, paused: number, priority = 3) => ({ time_ps, node_index: 0, port_index: 0, priority, paused });

test("tables become a run: gates of both priorities together, an open one until the end", () => {
  const run = new Run(
    build(meta, {
      ports: table([port("a", "b", 0, 1), port("a", "b", 0, 1, 7), port("b", "a", 1, 0)]),
      flows: table([flow]),
      pauses: table([at(1e6, 1), at(3e6, 0), at(2e6, 1, 7), at(4e6, 0, 7), at(9e8, 1)]),
    }),
  );
  expect(run.header.ports).toEqual(["a->b", "b->a"]);
  expect(run.label(0)).toBe("P a->b");
  expect(run.column("ports.ce_marks")[0]).toBe(4);
  expect([500, 1500, 3500, 4500, 950_000].map((time) => run.state(0, time, "detector"))).toEqual([
    State.Free, State.Paused, State.Paused, State.Free, State.Paused,
  ]);
  expect(run.column("flows.finish")[0]).toBe(-1);
  expect(run.header.missing.map((missing) => missing.table)).toEqual(["states", "marks", "samples"]);
  expect(run.knows).toBe(false);
  // Of bins of 500 ticks the first that is closed throughout is [1000, 1500).
  expect(busiest(run)).toBe(1250);
});

test("faults of dropped tables stand at their links and hosts, from when to when, with what they lost", () => {
  const event = (fault: number | null, kind: string, event: string, time_ps: number, port: string | null, packets = 0, last_ps: number | null = null) =>
    ({ fault, kind, event, time_ps, port, packets, last_ps });
  const scenario = { fault: [{ kind: "link-down", link: ["a", "b"], at: "2us", for: "3us" }, { kind: "loss", link: ["b", "a"], frames: 0.1, at: "1us", until: "0.5ms" }] };
  const packed = build({ ...meta, scenario }, {
    ports: table([port("a", "b", 0, 1), port("b", "a", 1, 0)]),
    flows: table([flow]),
    faults: table([
      event(0, "link-down", "down", 2e6, "a->b"), event(0, "link-down", "down", 2e6, "b->a"),
      event(0, "link-down", "up", 5e6, "a->b"), event(0, "link-down", "up", 5e6, "b->a"),
      event(0, "link-down", "lost", 2e6, "a->b", 3, 4e6), event(1, "loss", "lost", 7e6, "b->a", 1, 7e6),
      event(null, "watchdog", "watchdog-triggered", 9e6, "b->a"),
    ]),
  });
  const run = new Run(packed);
  expect(run.header.faults).toEqual([
    { name: "fault 0: link-down", kind: "link-down", dead: true, cost: ["3 packets lost from 2 µs to 4 µs"] },
    { name: "fault 1: loss", kind: "loss", dead: false, cost: ["1 packet lost from 7 µs to 7 µs"] },
    { name: "PFC watchdog", kind: "watchdog", dead: false, cost: ["no packet lost"] },
  ]);
  const column = (name: string) => [...run.column(`faults.${name}`)];
  // A tick is 1 ns; the run ends at 1 ms.
  expect(["fault", "node", "peer", "start", "length"].map(column)).toEqual([
    [0, 1, 2], [0, 1, 1], [1, 0, 0], [2000, 1000, 9000], [3000, 499_000, 991_000],
  ]);
  expect(wrong(run, 3000)).toEqual([{ fault: 0, node: 0, peer: 1 }, { fault: 1, node: 1, peer: 0 }]);
  expect(lanes(run).map((lane) => lane.spans.length)).toEqual([1, 1, 1]);
});

test("results of another version are refused", () => {
  expect(() => build({ ...meta, format: 4 }, {})).toThrow("run.json is of format 4, this page reads formats 1 to 3: run the scenario again");
});

test.each([
  [[], "run.json and ports.parquet and flows.parquet are not among them"],
  [[new File(["{}"], "run.json"), new File(["x"], "flows.parquet")], "ports.parquet is not among them"],
  [
    [new File(["{}"], "run.json"), new File(["x"], "ports.parquet"), new File(["x"], "flows.parquet")],
    "ports.parquet cannot be read",
  ],
])("dropped files %# that do not suffice are named", async (files, message) => {
  await expect(read(files)).rejects.toThrow(message);
});

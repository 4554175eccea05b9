import { expect, test } from "vitest";
import { roles } from "../src/lib/roles";
import { State } from "../src/lib/run";
import { busiest, rows, ticks } from "../src/lib/activity";
import { meant, neighbours, search } from "../src/lib/search";
import { run } from "./scene";

// a - s - b; ports: 0 a->s, 1 s->a, 2 s->b, 3 b->s. The run has 1 000 000 ticks of 1 ns.
const links: [string, string][] = [["a", "s"], ["s", "b"]];

test("a gate that is closed shows over what the detector says, and that over a free port", () => {
  const found = run(links, {
    "gates.port": [2],
    "gates.start": [100],
    "gates.length": [50],
    "states.port": [2, 2],
    "states.start": [50, 300],
    "states.length": [200, 100],
    "states.state": [2, 1],
  });
  const at = (time: number) => found.state(2, time, "detector");
  expect([0, 60, 120, 160, 260, 350].map(at)).toEqual([
    State.Free,
    State.Undetermined,
    State.Paused,
    State.Undetermined,
    State.Free,
    State.Congested,
  ]);
});

test("a detector without states of its own takes a long queue for congestion; the truth asks who holds it", () => {
  const found = run(links, {
    "long.port": [2, 2],
    "long.start": [0, 100],
    "long.length": [100, 100],
    "long.held": [1, 0],
    "held.port": [2],
    "held.start": [0],
    "held.length": [100],
  });
  expect(found.judges).toBe(false);
  expect([50, 150].map((time) => found.state(2, time, "detector"))).toEqual([State.Congested, State.Congested]);
  expect([50, 150].map((time) => found.state(2, time, "truth"))).toEqual([State.Undetermined, State.Congested]);
  expect(found.isRoot(2, 150)).toBe(true);
});

test("a queue is a line between points, whatever its port's neighbours have", () => {
  const found = run(links, { "queues.port": [1, 2, 2, 2], "queues.time": [5, 10, 20, 900_000], "queues.bytes": [7, 0, 100, 50] });
  expect([5, 10, 15, 20].map((time) => found.queue(2, time))).toEqual([0, 0, 50, 100]);
  // Long after the last point before a gap nothing is claimed.
  expect(found.queue(2, 500_000)).toBe(0);
  expect(found.queue(3, 15)).toBe(0);
  expect(found.peakQueue).toBe(100);
});

test("a tree has each branch once, at its time, and the largest is found", () => {
  const found = run(links, {
    "trees.port": [0, 1, 1],
    "trees.start": [0, 50, 60],
    "trees.length": [100, 100, 20],
    "trees.root": [2, 2, 3],
    "trees.depth": [1, 2, 1],
  });
  expect(found.tree(2, 70)).toEqual([{ port: 0, depth: 1 }, { port: 1, depth: 2 }]);
  expect(found.tree(2, 120)).toEqual([{ port: 1, depth: 2 }]);
  expect(found.largestRoot(70)).toBe(2);
  expect(found.largestRoot(500)).toBe(-1);
});

test("overlapping intervals of a port are found, the one that began last first", () => {
  const found = run(links, {
    "states.port": [2, 2, 2],
    "states.start": [0, 10, 20],
    "states.length": [1000, 5, 5],
    "states.state": [2, 1, 1],
  });
  expect([5, 12, 17, 22, 500, 1000].map((time) => found.states.at(2, time))).toEqual([0, 1, 0, 2, 0, -1]);
});

test("culprits feed the root and are under way; victims wait in its tree and do not", () => {
  const found = run(
    links,
    {
      "trees.port": [0],
      "trees.start": [0],
      "trees.length": [100],
      "trees.root": [2],
      "trees.depth": [1],
      "flows.flow": [4, 5, 6],
      "flows.src": [0, 2, 2],
      "flows.dst": [2, 0, 0],
      "flows.start": [0, 0, 90],
      "flows.finish": [-1, 60, -1],
      "flows.verdict": [3, 2, 2],
      "feeding.root": [2],
      "feeding.flow": [4],
      "feeding.share": [1],
      "waits.flow": [4, 5, 6],
      "waits.port": [0, 0, 0],
      "waits.packets": [1, 1, 1],
      "waits.mean": [1, 1, 1],
    },
    { nodes: ["a", "s", "b"] },
  );
  const names = (set: Set<number>) => [...set].map((node) => found.header.nodes[node]);
  const at = (time: number) => roles(found, 2, found.tree(2, time), time);
  expect(names(at(50).culprits)).toEqual(["a"]);
  expect(names(at(50).victims)).toEqual(["b"]);
  expect(names(at(70).victims)).toEqual([]);
  expect(names(at(500).culprits)).toEqual([]);
});

/** The curve of this name in four parts of a run of a million ticks. */
const heights = (found: ReturnType<typeof run>, name: string) => [...rows(found, 4, 1_000_000).find((row) => row.name === name)!.curves[0].values];

test("closed gates over time are a mean of each part", () => {
  const found = run(links, { "gates.port": [0, 2], "gates.start": [0, 250_000], "gates.length": [500_000, 500_000] });
  expect(heights(found, "ports paused")).toEqual([1, 2, 1, 0]);
});

test("where no gate ever closes, flows under way are what was going on, and the page opens where most are", () => {
  const columns = { "flows.flow": [0, 1, 2], "flows.start": [0, 250_000, -1], "flows.finish": [500_000, -1, -1] };
  const found = run(links, columns);
  expect(heights(found, "flows")).toEqual([1, 2, 1, 1]);
  expect(busiest(found)).toBeGreaterThan(250_000);
  expect(busiest(found)).toBeLessThan(500_000);
});

test("a search lists the port with the longest queue first, of equal ones the one that sent most", () => {
  const columns = { "ports.peak_queue_bytes": [0, 10, 90, 10], "ports.sent_bytes": [9, 5, 1, 7] };
  const found = run(links, columns);
  expect(search(found, "s").ports.map((port) => found.label(port))).toEqual(["s->b", "b->s", "s->a", "a->s"]);
});

test("an empty run has nothing and breaks nothing", () => {
  const found = run([]);
  expect(found.ports).toBe(0);
  expect(found.roots).toEqual([]);
  expect(found.queue(0, 5)).toBe(0);
  expect(found.state(0, 5, "truth")).toBe(State.Free);
});

test("the longest queue is that of the longest port at any time, all queues are their sum, and the page opens where that is greatest", () => {
  // Up to 4000 bytes at half the time and down again; another port has 1000 bytes all the time.
  const dense = Array.from({ length: 41 }, (_, i) => i * 25_000);
  const ramp = { "queues.port": dense.map(() => 0), "queues.time": dense, "queues.bytes": dense.map((time) => (time <= 500_000 ? time / 125 : (1_000_000 - time) / 125)) };
  const both = {
    "queues.port": [...ramp["queues.port"], 2, 2],
    "queues.time": [...ramp["queues.time"], 0, 1_000_000],
    "queues.bytes": [...ramp["queues.bytes"], 1000, 1000],
  };
  const found = run(links, both);
  expect(heights(found, "longest queue")).toEqual([1800, 3800, 4000, 2000]);
  // In the middles of the parts: 1000, 3000, 3000 and 1000 of the ramp, and 1000 of the other port; never less than the longest.
  expect(heights(found, "all queues")).toEqual([2000, 4000, 4000, 2000]);
  expect(Math.abs(busiest(found) - 500_000)).toBeLessThan(25_000);
  expect(rows(run(links), 4, 1_000_000)).toEqual([]);
});

test("goodput is the mean rates of the flows under way, or what the page has of all flows", () => {
  // 125 KB in 250 µs are 4 Gbps.
  const flows = { "flows.flow": [0, 1], "flows.start": [0, 250_000], "flows.finish": [250_000, 500_000], "flows.received_bytes": [125_000, 125_000] };
  expect(heights(run(links, flows), "goodput")).toEqual([4000, 4000, 0, 0]);
  const all = { ...flows, "load.time": [0, 500_000], "load.flows": [7, 3], "load.mbps": [100, 50] };
  expect(heights(run(links, all), "flows")).toEqual([7, 7, 3, 3]);
});

test("marks of the axis stand at round times, and are no more than there is room for", () => {
  expect(ticks(1000, 5)).toEqual([0, 200, 400, 600, 800, 1000]);
  expect(ticks(300e6, 10).length).toBeLessThanOrEqual(11);
});

test("a search finds nodes, and what is entered means a node of that name, else the busiest port", () => {
  const columns = { "ports.peak_queue_bytes": [0, 10, 90, 10], "ports.sent_bytes": [9, 5, 1, 7] };
  const found = run(links, columns);
  const s = found.header.nodes.indexOf("s");
  expect(search(found, "s").nodes).toContain(s);
  expect(meant(found, search(found, "S"), "S")).toEqual({ node: s, port: -1, flow: -1 });
  expect(found.label(meant(found, search(found, "->"), "->").port)).toBe("s->b");
  expect(neighbours(found, s).from.map((port) => found.label(port))).toEqual(["s->b", "s->a"]);
  expect(neighbours(found, s).to.map((port) => found.label(port))).toEqual(["b->s", "a->s"]);
});

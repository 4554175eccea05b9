import { expect, test } from "vitest";
import { layout, places } from "../src/lib/layout";
import { path, portsOf } from "../src/lib/paths";
import { run } from "./scene";

const leafSpine: [string, string][] = [
  ["h0", "leaf0"], ["h1", "leaf0"], ["h2", "leaf1"], ["h3", "leaf1"],
  ["leaf0", "spine0"], ["leaf0", "spine1"], ["leaf1", "spine0"], ["leaf1", "spine1"],
];

function named(links: [string, string][]) {
  const found = run(links);
  const placed = layout(found);
  const of = (values: ArrayLike<number>) => (name: string) => values[found.header.nodes.indexOf(name)];
  return { found, placed, x: of(placed.x), y: of(placed.y), tier: of(placed.tier) };
}

test("a leaf-spine has its hosts below, its leaves above them, its spines on top", () => {
  const { placed, x, y, tier } = named(leafSpine);
  expect(placed.kind).toBe("tiers");
  expect(["h0", "leaf0", "spine1"].map(tier)).toEqual([0, 1, 2]);
  expect(y("h0")).toBeGreaterThan(y("leaf0"));
  expect(y("leaf0")).toBeGreaterThan(y("spine0"));
  expect(x("leaf0")).toBeCloseTo((x("h0") + x("h1")) / 2, 6);
  expect(x("spine0")).toBeLessThan(x("spine1"));
});

test("switches in a ring stand in a ring, and no link lies on a switch", () => {
  const links: [string, string][] = [];
  for (let i = 0; i < 6; i++) links.push([`h${i}`, `s${i}`], [`s${i}`, `s${(i + 1) % 6}`]);
  const { placed, x, y } = named(links);
  expect(placed.kind).toBe("ring");
  const at = (i: number) => [x(`s${i % 6}`) - 0.5, y(`s${i % 6}`) - 0.5];
  // One after the other around the middle, all the same way.
  const turns = Array.from({ length: 6 }, (_, i) => Math.sign(at(i)[0] * at(i + 1)[1] - at(i)[1] * at(i + 1)[0]));
  expect(new Set(turns).size).toBe(1);
  for (let i = 0; i < 6; i++) expect(Math.hypot(...at(i))).toBeCloseTo(Math.hypot(...at(0)), 6);
});

test("a chain of switches stands in a row", () => {
  const { placed, y } = named([["h0", "a"], ["a", "b"], ["h1", "b"], ["b", "c"], ["h2", "c"]]);
  expect(placed.kind).toBe("tiers");
  expect(new Set(["a", "b", "c"].map(y)).size).toBe(1);
});

test("no two nodes of a fat tree stand on each other, and all are in the picture", () => {
  const links: [string, string][] = [];
  const k = 10;
  for (let pod = 0; pod < k; pod++)
    for (let i = 0; i < k / 2; i++)
      for (let j = 0; j < k / 2; j++) {
        links.push([`h${pod * 25 + i * 5 + j}`, `edge${pod}.${i}`]);
        links.push([`edge${pod}.${i}`, `agg${pod}.${j}`]);
        links.push([`agg${pod}.${i}`, `core${i * 5 + j}`]);
      }
  const { found, placed } = named(links);
  expect(placed.hosts.length).toBe(250);
  const seen = new Set(found.header.nodes.map((_, node) => `${placed.x[node].toFixed(5)} ${placed.y[node].toFixed(5)}`));
  expect(seen.size).toBe(375);
  expect(Math.min(...placed.x)).toBeGreaterThan(0);
  expect(Math.max(...placed.x)).toBeLessThan(1);
});

test("a chain of switches is drawn by tiers, a torus on a grid", () => {
  expect(named([["h0", "s0"], ["h1", "s1"], ["h2", "s2"], ["s0", "s1"], ["s1", "s2"]]).placed.kind).toBe("tiers");
  const torus: [string, string][] = [];
  for (let r = 0; r < 3; r++)
    for (let c = 0; c < 4; c++) {
      torus.push([`h${r * 4 + c}`, `s${r}.${c}`]);
      torus.push([`s${r}.${c}`, `s${r}.${(c + 1) % 4}`], [`s${r}.${c}`, `s${(r + 1) % 3}.${c}`]);
    }
  const { placed, x, y } = named(torus);
  expect(placed.kind).toBe("grid");
  expect(x("s0.1")).toBeCloseTo(x("s2.1"), 9);
  expect(y("s1.0")).toBeCloseTo(y("s1.3"), 9);
  expect(x("s0.3")).toBeGreaterThan(x("s0.2"));
  expect(y("h0")).toBeGreaterThan(y("s0.0"));
});

test("coordinates that the topology tells are columns and rows, more than two make blocks, groups of a dragonfly a ring", () => {
  const links: [string, string][] = [];
  const names = [0, 1, 2].flatMap((g) => [0, 1, 2].map((r) => [g, r] as const));
  for (const [g, r] of names) {
    links.push([`h${g}${r}`, `x${g}${r}`]);
    for (const [g2, r2] of names) if ((g2 === g && r2 > r) || (g2 > g && r2 === r)) links.push([`x${g}${r}`, `x${g2}${r2}`]);
  }
  const nodes = [...new Set(links.flat())];
  const at = nodes.map((name) => (name.startsWith("x") ? [Number(name[1]), Number(name[2])] : []));
  const told = { tier: at.map((place) => Math.sign(place.length)), group: nodes.map(() => null), at };
  const seen = (facts: Record<string, string>, places = told) => {
    const placed = layout(run(links, {}, { places, facts }));
    return { kind: placed.kind, x: (name: string) => placed.x[nodes.indexOf(name)], y: (name: string) => placed.y[nodes.indexOf(name)] };
  };
  const mesh = seen({ topology: "mesh" });
  expect(mesh.kind).toBe("grid");
  expect(mesh.x("x02") - mesh.x("x01")).toBeCloseTo(1 / 3, 6);
  expect(mesh.y("x21") - mesh.y("x11")).toBeCloseTo(1 / 3, 6);
  const deep = seen({ topology: "torus" }, { ...told, at: at.map((place) => (place.length ? [place[0], 0, place[1]] : [])) });
  expect(deep.x("x10") - deep.x("x02")).toBeCloseTo(2 * (deep.x("x02") - deep.x("x01")), 6);
  const ring = seen({ topology: "dragonfly" });
  expect(ring.kind).toBe("ring");
  const away = (name: string) => Math.hypot(ring.x(name) - 0.5, ring.y(name) - 0.5);
  for (const [g, r] of names) {
    expect(away(`x${g}${r}`)).toBeCloseTo(0.39, 6);
    expect(away(`h${g}${r}`)).toBeCloseTo(0.49, 6);
  }
});

test("names without places fill a grid row by row", () => {
  expect(places(["a", "b", "c", "d"])).toEqual([[0, 0], [1, 0], [2, 0], [0, 1]]);
  expect(places(["g0.r0", "g0.r1", "g1.r0"])).toEqual([[0, 0], [1, 0], [0, 1]]);
});

test("a path is sure where there is one way or a packet waited, and open between", () => {
  const found = run(leafSpine);
  const out = portsOf(found);
  const port = (label: string) => found.header.ports.indexOf(label);
  const node = (name: string) => found.header.nodes.indexOf(name);
  const labels = (ports: number[]) => ports.map((p) => found.header.ports[p]);
  const within = path(found, out, node("h0"), node("h1"), []);
  expect(labels(within.sure)).toEqual(["h0->leaf0", "leaf0->h1"]);
  const open = path(found, out, node("h0"), node("h3"), []);
  expect(labels(open.sure)).toEqual(["h0->leaf0", "leaf1->h3"]);
  expect(labels(open.maybe)).toEqual(["leaf0->spine0", "leaf0->spine1", "spine0->leaf1", "spine1->leaf1"]);
  const seen = path(found, out, node("h0"), node("h3"), [port("leaf0->spine1")]);
  expect(labels(seen.sure)).toEqual(["h0->leaf0", "leaf0->spine1", "spine1->leaf1", "leaf1->h3"]);
  expect(seen.maybe).toEqual([]);
});

test("a network without links is no trouble", () => {
  expect(layout(run([])).hosts).toEqual([]);
});

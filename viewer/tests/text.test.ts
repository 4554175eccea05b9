import { expect, test } from "vitest";
import { action } from "../src/lib/keys";
import { search } from "../src/lib/search";
import { bytes, clock, count, rate, summary, time, unbroken } from "../src/lib/text";
import { run } from "./scene";

test("numbers have units and three digits", () => {
  expect([0, 999, 1500, 183e6, 4e9, 2.5e12].map(time)).toEqual(["0 s", "999 ps", "1.5 ns", "183 µs", "4 ms", "2.5 s"]);
  expect([0, 1030, 743_000, 5_890_000].map(bytes)).toEqual(["0 B", "1.03 KB", "743 KB", "5.89 MB"]);
  expect([100, 24_100, 1.6e6].map(rate)).toEqual(["100 Mbps", "24.1 Gbps", "1.6 Tbps"]);
  expect(count(1_234_567)).toBe("1\u202f234\u202f567");
  expect(clock(1_423_800_000, 4e9)).toBe("1.4238 ms");
  expect(summary({ detector: "red", cc: "dcqcn", flow_control: "pfc", isolation: "none" })).toBe("ECN · DCQCN · PFC");
});

test("keys play, step, hurry and seek, but not while text is typed", () => {
  const press = (key: string, tagName = "BODY", type = "", shiftKey = false) =>
    action({ key, shiftKey, ctrlKey: false, metaKey: false, altKey: false }, { tagName, type });
  expect(press(" ")).toEqual({ kind: "play" });
  expect(press(" ", "BUTTON")).toBeNull();
  expect(press("ArrowLeft", "INPUT", "range")).toEqual({ kind: "step", by: -1 });
  expect(press("ArrowRight", "BODY", "", true)).toEqual({ kind: "step", by: 10 });
  expect(press("+")).toEqual({ kind: "speed", by: 2 });
  expect(press("t", "INPUT", "search")).toBeNull();
  expect(press("Escape", "INPUT", "search")).toEqual({ kind: "clear" });
  expect(press("q")).toBeNull();
});

test("ports and flows are found by words", () => {
  const found = run(
    [["h0", "s"], ["s", "h1"]],
    { "flows.flow": [7], "flows.traffic": [0], "flows.src": [0], "flows.dst": [2] },
    { traffic: ["web"], aliases: { "s->h1": "P3" } },
  );
  expect(search(found, "p3")).toEqual({ nodes: [], ports: [2], flows: [] });
  expect(search(found, "h0").ports).toEqual([0, 1]);
  expect(search(found, "web h1").flows).toEqual([7]);
  expect(search(found, "7").flows).toEqual([7]);
  expect(search(found, " ")).toEqual({ nodes: [], ports: [], flows: [] });
});

test("a number is the flow of that number and nothing else", () => {
  const found = run(
    [["n4", "n9"], ["n9", "n40"]],
    { "flows.flow": [0, 4, 14], "flows.traffic": [0, 0, 0], "flows.src": [0, 0, 0], "flows.dst": [2, 2, 2] },
    { traffic: ["flows"] },
  );
  for (const wanted of ["4", "flow 4", "Flow 4", "flow4"]) expect(search(found, wanted)).toEqual({ nodes: [], ports: [], flows: [4] });
  // There is no flow 40: the host is meant.
  expect(search(found, "40").ports).not.toEqual([]);
});

test("a cell breaks between words, and not before a unit", () => {
  expect(unbroken("3.73 ms (max of 32)")).toBe("3.73\u00a0ms (max of 32)");
  expect(unbroken("80.7 Gbps (20.2 %)")).toBe("80.7\u00a0Gbps (20.2\u00a0%)");
});

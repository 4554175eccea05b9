import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { FORMAT, inflate, unpack } from "../src/lib/format";
import { packed } from "./scene";

const scene = { a: { type: "i8" as const, delta: true, values: [5, 1, -2] }, b: { type: "f64" as const, delta: false, values: [2 ** 40, 0.5] } };

test("columns come back, differences summed", () => {
  const { columns } = unpack(packed({}, scene));
  expect([...columns.get("a")!]).toEqual([5, 6, 4]);
  expect([...columns.get("b")!]).toEqual([2 ** 40, 0.5]);
});

test("base64 and gzip are undone", async () => {
  const raw = packed({ name: "½" }, scene);
  const text = gzipSync(new Uint8Array(raw)).toString("base64");
  expect(unpack(await inflate(`\n${text}\n`)).header.name).toBe("½");
});

test("a run in another format is refused with its version and what to do", () => {
  expect(() => unpack(packed({ format: FORMAT + 1, backwater: "9.0" }, {}))).toThrow(
    "the run is in format 2 of Backwater 9.0, this page reads format 1: write the page again with backwater view",
  );
});

test.each([
  [new ArrayBuffer(4), "the data of the page is cut off"],
  [new ArrayBuffer(64), "this is not the data of a Backwater run"],
  [packed({}, scene).slice(0, 40), "the data of the page is cut off"],
  [packed({}, scene).slice(0, -8), "column b is cut off"],
  [packed({}, { a: { type: "u7" as "i8", delta: false, values: [] } }), "column a has the unknown type u7"],
])("damaged data %# is refused", (raw, message) => {
  expect(() => unpack(raw)).toThrow(message);
});

test("whatever is broken in the data, it is read or refused with words", () => {
  const whole = new Uint8Array(packed({ name: "scene" }, scene));
  // A linear congruential generator: the same bytes are broken in every run.
  let state = 1;
  const next = (below: number) => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) % below;
  for (let round = 0; round < 2000; round++) {
    const bytes = whole.slice(0, next(4) ? whole.length : next(whole.length));
    for (let i = 0; i <= next(4) && bytes.length; i++) bytes[next(bytes.length)] = next(256);
    try {
      unpack(bytes.buffer);
    } catch (error) {
      expect((error as Error).message).toMatch(/data of the page|Backwater run|in format|column .* (is|has)/);
    }
  }
});

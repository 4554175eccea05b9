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

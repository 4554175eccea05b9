// The pictures of the README, taken of the page in Chromium: `make viewer-pictures`.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const repository = resolve(fileURLToPath(new URL("..", import.meta.url)));
const python = process.env.PYTHON ?? join(repository, ".venv/bin/python");
const docs = join(repository, "docs");
const work = mkdtempSync(join(tmpdir(), "backwater-pictures-"));

function call(...words) {
  const env = { ...process.env, PYTHONPATH: join(repository, "python") };
  const { status, stderr } = spawnSync(python, words, { cwd: repository, env, encoding: "utf8" });
  if (status !== 0 && status !== 4) throw new Error(`${words.join(" ")}: ${stderr}`);
}

/** Runs a scenario as the README says; returns the results folder. */
function run(name, scenario, ...words) {
  const out = join(work, name);
  call("-m", "backwater", "run", scenario, "--json", "--out", out, ...words);
  return join(out, readdirSync(out)[0]);
}

function page(name, ...folders) {
  const file = join(work, `${name}.html`);
  call("-m", "backwater", "view", ...folders, "--out", file);
  return `file://${file}`;
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

async function open(address, width, height) {
  const found = await browser.newPage({ viewport: { width, height }, colorScheme: "light" });
  await found.goto(address);
  await found.locator("aside").waitFor();
  await found.waitForTimeout(200);
  return found;
}

/** Goes to a time in µs, as the slider does. */
async function seek(found, us) {
  await found.locator(".track input").evaluate((slider, value) => {
    slider.value = String(value);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }, us * 1e6);
  await found.waitForTimeout(60);
}

const tree = page("tree", run("tree", "scenarios/isolation.toml", "--scheme", "none", "--set", "probe.sample=2us"));
const ecn = run("ecn", "scenarios/multi-congestion-points.toml", "--set", "switch.detector.kind=red");
const tcd = run("tcd", "scenarios/multi-congestion-points.toml");

const first = await open(tree, 1280, 800);
await first.getByRole("button", { name: "the chosen root's queue and flows" }).click();
await first.waitForTimeout(200);
await first.screenshot({ path: join(docs, "view.png") });
await first.close();

const two = await open(page("two", ecn, tcd), 1280, 760);
await seek(two, 2000);
await two.screenshot({ path: join(docs, "view-two.png") });
await two.close();

// The tree of 16 hosts that send to h0 from 100 to 120 µs: how it grows, and how it is gone.
const moving = await open(tree, 1140, 720);
const frames = join(work, "frames");
mkdirSync(frames);
const stage = moving.locator(".stage");
let number = 0;
for (let us = 96; us <= 456; us += 5) {
  await seek(moving, us);
  await stage.screenshot({ path: join(frames, `${String(number++).padStart(3, "0")}.png`) });
}
await browser.close();

const animate = `
import sys
from pathlib import Path
from PIL import Image

frames = [Image.open(file).convert("RGB") for file in sorted(Path(sys.argv[1]).glob("*.png"))]
durations = [900] + [90] * (len(frames) - 2) + [1200]
frames[0].save(sys.argv[2], save_all=True, append_images=frames[1:], duration=durations, loop=0, quality=38, method=6)
`;
call("-c", animate, frames, join(docs, "congestion-tree.webp"));
rmSync(work, { recursive: true });

// Pages of real runs for the tests in the browser, made by the package as a user would make them.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const repository = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const python = process.env.PYTHON ?? join(repository, ".venv/bin/python");
const work = mkdtempSync(join(tmpdir(), "backwater-view-"));

/** Where screenshots go. */
export const shots = join(repository, "viewer", "shots");
mkdirSync(shots, { recursive: true });

function backwater(...words: string[]): string {
  const env = { ...process.env, PYTHONPATH: join(repository, "python") };
  const options = { cwd: repository, env, encoding: "utf8" } as const;
  const { status, stdout, stderr } = spawnSync(python, ["-m", "backwater", ...words], options);
  // 4: finished with something to know, such as flows that never started.
  if (status !== 0 && status !== 4) throw new Error(`backwater ${words.join(" ")}: ${stderr}`);
  return stdout;
}

function set(...pairs: string[]): string[] {
  return pairs.flatMap((pair) => ["--set", pair]);
}

/** Runs a scenario once; returns its results folder. */
export function run(name: string, scenario: string, ...overrides: string[]): string {
  const out = join(work, name);
  backwater("run", scenario, "--json", "--out", out, ...set(...overrides));
  return join(out, readdirSync(out)[0]);
}

/** Every page that a scenario of the repository makes, one for each of its schemes, by its folder's name. */
export function every(scenario: string, ...overrides: string[]): [name: string, address: string][] {
  const out = join(work, `every-${scenario}`);
  backwater("run", join("scenarios", scenario), "--json", "--html", "--out", out, ...set(...overrides));
  return readdirSync(out, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => [name, `file://${join(out, name, "view.html")}`]);
}

/** The scenarios of the repository. */
export const scenarios = readdirSync(join(repository, "scenarios"), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".toml"));

/** Runs the text of a scenario. */
export function runText(name: string, text: string, ...overrides: string[]): string {
  const file = join(work, `${name}.toml`);
  writeFileSync(file, text);
  return run(name, file, ...overrides);
}

/** Writes the page of one run or two; returns its address. */
export function page(name: string, ...folders: string[]): string {
  const file = join(work, `${name}.html`);
  backwater("view", ...folders, "--out", file);
  return `file://${file}`;
}

/** A page with this in the place of its data. */
export function pageWith(name: string, template: string, data: string): string {
  const file = join(work, `${name}.html`);
  writeFileSync(file, template.replace("<!--backwater-runs-->", data));
  return `file://${file}`;
}

/** The fat tree of 250 servers of the TCD paper (Figures 16 and 19), with everything recorded that the page shows. */
export function fatTree(): string {
  return run(
    "fat-tree",
    "papers/tcd/scenarios/fat-tree.toml",
    "traffic.flows=12000",
    "probe.pauses=true",
    "probe.states=true",
    "probe.marks=true",
    "probe.blame=true",
    "probe.sample=10us",
  );
}

const SCENE = "scenarios/multi-congestion-points.toml";

/** The scene of Figure 12 of the TCD paper under TCD, and under ECN. */
export function scenes(): [ecn: string, tcd: string] {
  const every = ["probe.sample=5us", 'probe.ports=["T0:*","T1:*","L0:*","T2:*"]'];
  return [run("ecn", SCENE, "switch.detector.kind=red", ...every), run("tcd", SCENE, ...every)];
}

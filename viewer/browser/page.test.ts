// The page in Chromium, from a file, as a user opens it.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fatTree, page, pageWith, run, runText, scenes, shots } from "./pages";

const WIDE = { width: 1280, height: 800 };
let browser: Browser;
let ecn: string;
let tcd: string;

beforeAll(async () => {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  [ecn, tcd] = scenes();
}, 120_000);

afterAll(async () => browser?.close());

/** Opens a page that may reach nothing, and fails on any error in it. */
async function open(address: string, options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: WIDE, offline: true, ...options });
  const found = await context.newPage();
  const problems: string[] = [];
  found.on("pageerror", (error) => problems.push(error.message));
  found.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  found.on("request", (request) => !/^(file|data|blob):/.test(request.url()) && problems.push(`asked for ${request.url()}`));
  await found.goto(address);
  await found.locator("main").waitFor();
  await found.locator("text=Reading…").waitFor({ state: "hidden" });
  found.once("close", () => expect(problems).toEqual([]));
  return found;
}

async function now(found: Page): Promise<number> {
  return Number(await found.evaluate(() => document.documentElement.dataset.nowPs));
}

/** How many of the canvas's pixels have about this colour. */
async function pixels(found: Page, colour: [number, number, number]): Promise<number> {
  return found.evaluate(([r, g, b]) => {
    const canvas = document.querySelector<HTMLCanvasElement>(".fabric canvas")!;
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 200 && Math.hypot(data[i] - r, data[i + 1] - g, data[i + 2] - b) < 24) count++;
    }
    return count;
  }, colour);
}

const VERMILLION: [number, number, number] = [0xd5, 0x5e, 0];
const ORANGE: [number, number, number] = [0xe6, 0x9f, 0];

test("it opens where the largest tree stands, with its root highlighted", async () => {
  const found = await open(page("tcd", tcd));
  expect(await now(found)).toBeGreaterThan(1.0e9);
  expect(await now(found)).toBeLessThan(4.0e9);
  await expect.poll(() => found.locator("aside").innerText()).toContain("P3 T2->R1: 20 branches at this moment");
  expect(await found.locator(".root[aria-pressed=true]").innerText()).toContain("P3 T2->R1");
  await found.screenshot({ path: join(shots, "tcd-light.png") });
  await found.close();
});

test("space, arrows, plus, home and end move the time", async () => {
  const found = await open(page("keys", tcd));
  const at = await now(found);
  await found.keyboard.press("ArrowRight");
  expect(await now(found)).toBeCloseTo(at + 4e9 / 500, -3);
  await found.keyboard.press("Shift+ArrowLeft");
  expect(await now(found)).toBeCloseTo(at - (9 * 4e9) / 500, -3);
  await found.keyboard.press("End");
  expect(await now(found)).toBe(4e9);
  await found.keyboard.press("Home");
  expect(await now(found)).toBe(0);
  const before = await found.locator(".speed").innerText();
  await found.keyboard.press("+");
  expect(await found.locator(".speed").innerText()).not.toBe(before);
  await found.keyboard.press(" ");
  await expect.poll(() => now(found)).toBeGreaterThan(0);
  await found.keyboard.press(" ");
  const stopped = await now(found);
  await found.waitForTimeout(150);
  expect(await now(found)).toBe(stopped);
  await found.keyboard.press("t");
  expect(await now(found)).toBeCloseTo(at, -3);
  await found.close();
});

test("everything is reached by the tabulator, and what has the focus shows it", async () => {
  const found = await open(page("tab", tcd));
  const seen = new Set<string>();
  for (let i = 0; i < 24; i++) {
    await found.keyboard.press("Tab");
    const [what, outline] = await found.evaluate(() => {
      const focus = document.activeElement as HTMLElement;
      if (focus === document.body) return ["", ""];
      return [focus.getAttribute("aria-label") ?? focus.innerText?.split("\n")[0] ?? "", getComputedStyle(focus).outlineStyle];
    });
    if (what) expect(outline).not.toBe("none");
    seen.add(what);
  }
  for (const wanted of ["Play", "Time", "ground truth", "P3 T2->R1", "P2 L0->T2", "Find a host, a switch, a port or a flow", "Zoom in", "Faster"]) {
    expect([...seen]).toContain(wanted);
  }
  await found.close();
});

test("a click on a link shows its port, and from there a flow that fed it, with its path and its losses", async () => {
  const found = await open(page("click", tcd));
  const box = (await found.locator(".fabric canvas").boundingBox())!;
  // The ring of the root stands in the middle of T2->R1.
  await found.mouse.click(box.x + 433, box.y + 0.73 * box.height);
  await found.locator("aside h3", { hasText: "T2->R1" }).first().waitFor();
  expect(await found.locator("aside").innerText()).toContain("Who fed it while it was a root");
  expect(await found.locator("aside .uplot canvas").count()).toBe(1);
  await found.screenshot({ path: join(shots, "port.png") });
  await found.locator("aside li button").first().click();
  const text = await found.locator("aside").innerText();
  for (const part of ["F1 S1 → R1", "culprit", "Path", "T0->L0", "T2->R1", "Where its time went", "paced at the source"]) {
    expect(text).toContain(part);
  }
  await found.screenshot({ path: join(shots, "flow.png") });
  await found.keyboard.press("Escape");
  expect(await found.locator("aside").innerText()).toContain("Congestion roots");
  await found.close();
});

test("two runs stand side by side on one clock: ECN takes P2 for congested, TCD leaves it open", async () => {
  const found = await open(page("two", ecn, tcd));
  expect(await found.locator(".runs section").count()).toBe(2);
  expect(await found.getByRole("group", { name: "What the two runs differ in" }).innerText()).toMatch(/switch\.detector\.kind\s+red\s+tcd/);
  const [left, right] = await Promise.all([0, 1].map((i) => found.locator(".runs section").nth(i).boundingBox()));
  expect(left!.y).toBe(right!.y);
  for (let i = 0; i < 8; i++) await found.keyboard.press("Shift+ArrowRight");
  await found.screenshot({ path: join(shots, "two.png") });
  await found.locator(".runs section h2 button").nth(1).click();
  await found.locator("aside").getByRole("button", { name: "P2 L0->T2" }).click();
  await found.getByRole("button", { name: "the chosen root's queue and flows" }).click();
  expect(await found.locator("aside .now").innerText()).toMatch(/paused|undetermined/);
  await found.close();
});

test("colours are those of Okabe and Ito, and the truth has other words than the detector", async () => {
  const found = await open(page("ecn", ecn));
  for (let i = 0; i < 8; i++) await found.keyboard.press("Shift+ArrowRight");
  const [congested, open_] = [await pixels(found, VERMILLION), await pixels(found, ORANGE)];
  expect(congested).toBeGreaterThan(300);
  expect(open_).toBeLessThan(40);
  await found.keyboard.press("d");
  await expect.poll(() => pixels(found, ORANGE)).toBeGreaterThan(open_ + 200);
  expect(await pixels(found, VERMILLION)).toBeLessThan(congested);
  await found.close();
});

test("dark, narrow and with less motion it works, too", async () => {
  const options = { colorScheme: "dark", reducedMotion: "reduce", viewport: { width: 420, height: 840 } } as const;
  const found = await open(page("narrow", tcd), options);
  expect(await found.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe("rgb(20, 23, 27)");
  const wide = await found.evaluate(() => document.documentElement.scrollWidth);
  expect(wide).toBeLessThanOrEqual(420);
  const begin = await now(found);
  await found.keyboard.press(" ");
  await found.waitForTimeout(300);
  expect(await now(found)).toBe(begin);
  await expect.poll(() => now(found), { timeout: 3000 }).toBeGreaterThan(begin);
  await found.screenshot({ path: join(shots, "narrow-dark.png") });
  await found.close();
});

test("250 hosts play at 30 frames per second or more, from a page below 5 MB", async () => {
  const address = page("fat-tree", fatTree());
  expect(statSync(fileURLToPath(address)).size).toBeLessThan(5e6);
  const found = await open(address);
  await found.screenshot({ path: join(shots, "fat-tree.png") });
  // Slower than usual, so that what is measured is the busy part.
  for (let i = 0; i < 3; i++) await found.keyboard.press("-");
  await found.keyboard.press(" ");
  let best = 0;
  for (let round = 0; round < 3 && best < 40; round++) {
    const rate = await found.evaluate(
      () =>
        new Promise<number>((done) => {
          const begin = performance.now();
          let frames = 0;
          const count = (at: number) => {
            frames++;
            if (at - begin > 2000) done((1000 * frames) / (at - begin));
            else requestAnimationFrame(count);
          };
          requestAnimationFrame(count);
        }),
    );
    best = Math.max(best, rate);
  }
  console.log(`250 hosts: ${best.toFixed(1)} frames per second`);
  expect(await found.evaluate(() => document.documentElement.dataset.playing)).toBe("true");
  expect(best).toBeGreaterThanOrEqual(30);
  await found.close();
}, 120_000);

/** Drops files of a folder on the page. */
async function drop(found: Page, folder: string, names: string[]): Promise<void> {
  const files = names.map((name) => ({ name, data: readFileSync(join(folder, name)).toString("base64") }));
  await found.evaluate((given) => {
    const transfer = new DataTransfer();
    for (const { name, data } of given) {
      transfer.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name));
    }
    document.querySelector("main")!.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
  }, files);
}

test("a results folder that is dropped is shown, without trees, and says so", async () => {
  const template = readFileSync(new URL("../../python/backwater/view/page.html", import.meta.url), "utf8");
  const found = await open(pageWith("drop", template, ""));
  await drop(found, tcd, ["flows.parquet"]);
  expect(await found.locator("[role=alert]").innerText()).toContain("run.json and ports.parquet are not among them");
  await drop(found, tcd, readdirSync(tcd));
  await found.locator("aside", { hasText: "Who held whom back is not in the page" }).waitFor();
  expect(await found.locator("aside").innerText()).toContain("backwater view computes them from these files");
  // The page that Python made has the same numbers.
  const made = await open(page("tcd-again", tcd));
  const rows: string[] = [];
  for (const each of [found, made]) {
    await each.locator("input[type=search]").fill("P0");
    await each.locator("aside").getByRole("button", { name: "P0 T0->L0" }).click();
    const cells = await each.locator("aside td").allInnerTexts();
    rows.push(cells.slice(0, 5).join("; "));
  }
  expect(rows[0]).toContain("40 Gbps");
  expect(rows[0]).toBe(rows[1]);
  await found.screenshot({ path: join(shots, "dropped.png") });
  await found.close();
  await made.close();
});

test("a run without events, a run without blame and a page without a run say what is missing", async () => {
  const quiet = 'profile = "authors"\n[run]\nuntil = "20us"\n[topology]\nkind = "star"\nhosts = 3\nrate = "100Gbps"\ndelay = "1us"\n';
  const late = '[[traffic]]\nname = "late"\nkind = "incast"\nfrom = "*"\nto = "h0"\nsize = "1KB"\nstart = "1ms"\n';
  const empty = await open(page("quiet", runText("quiet", quiet + late)));
  expect(await empty.locator("aside").innerText()).toContain("No port was a root");
  await empty.close();
  const blind = await open(page("blind", run("blind", "scenarios/incast.toml", "probe.blame=false", "probe.states=false")));
  const text = await blind.locator("aside").innerText();
  expect(text).toContain("Not recorded: congestion trees, culprits and victims. --set probe.blame=true records it.");
  expect(text).toContain("Not recorded: the states of the detectors. --set probe.states=true records it.");
  await blind.close();
  const template = readFileSync(new URL("../../python/backwater/view/page.html", import.meta.url), "utf8");
  const none = await open(pageWith("none", template, ""));
  expect(await none.locator("main").innerText()).toContain("No run is in this page");
  await none.close();
  const other = '<script type="application/x-backwater-run">H4sIAAAAAAAA/wMAAAAAAAAAAAA=</script>';
  const broken = await open(pageWith("broken", template, other));
  expect(await broken.locator("[role=alert]").innerText()).toContain("the data of the page is cut off");
  await broken.close();
}, 60_000);

test("a flow that is chosen is shown at a moment at which it is under way", async () => {
  const found = await open(page("flow-time", tcd));
  await found.keyboard.press("Home");
  expect(await now(found)).toBe(0);
  // The bursts of A0 begin after 1 ms.
  await found.locator("input[type=search]").fill("A0");
  await found.locator("aside").getByRole("button", { name: /A0 → R1/ }).first().click();
  expect(await now(found)).toBeGreaterThan(1e9);
  await found.close();
});

test("an error that nobody caught is told in place of the page", async () => {
  const found = await browser.newPage({ offline: true });
  await found.goto(page("fails", tcd));
  await found.locator("aside").waitFor();
  await found.evaluate(() => setTimeout(() => { throw new Error("the sky fell"); }));
  await found.locator("[role=alert]").waitFor();
  const text = await found.locator("[role=alert]").innerText();
  expect(text).toContain("The page cannot be drawn");
  expect(text).toContain("the sky fell");
  await found.close();
});

test("what is shown is saved as a picture, and as a film from now on", async () => {
  const found = await open(page("saved", tcd));
  const saved = async (press: () => Promise<void>): Promise<[string, Buffer]> => {
    const [download] = await Promise.all([found.waitForEvent("download"), press()]);
    return [download.suggestedFilename(), readFileSync(await download.path())];
  };
  const [name, png] = await saved(() => found.getByRole("button", { name: "picture" }).click());
  expect(name).toMatch(/^multi-congestion-points.*-[\d.]+ms\.png$/);
  writeFileSync(join(shots, "saved.png"), png);
  expect([...png.subarray(0, 4)]).toEqual([0x89, 0x50, 0x4e, 0x47]);
  // As wide as the network, with a margin on either side, and higher, for the legend, the title and the timeline.
  const fabric = (await found.locator(".fabric canvas").boundingBox())!;
  expect(png.readUInt32BE(16)).toBe(Math.round(fabric.width) + 28);
  expect(png.readUInt32BE(20)).toBeGreaterThan(fabric.height + 100);
  const begin = await now(found);
  await found.getByRole("button", { name: "film" }).click();
  await found.waitForTimeout(1500);
  const [film, webm] = await saved(() => found.getByRole("button", { name: "stop film" }).click());
  writeFileSync(join(shots, film.replace(/.*-/, "film-")), webm);
  expect(film).toMatch(/\.webm$/);
  // The head of Matroska, and more than a picture at rest.
  expect([...webm.subarray(0, 4)]).toEqual([0x1a, 0x45, 0xdf, 0xa3]);
  expect(webm.length).toBeGreaterThan(10_000);
  expect(await now(found)).toBeGreaterThan(begin);
  await found.close();
});

test("a run without a PAUSE opens where flows are under way, with its collective as a lane that opens, and a summary", async () => {
  const found = await open(page("collective", run("collective", "scenarios/allreduce.toml")));
  const flows = found.locator(".names li", { hasText: "flows" });
  expect(await flows.innerText()).toContain("≤ 32");
  const lanes = found.locator(".names li");
  const before = await lanes.count();
  await found.getByRole("button", { name: "gradients" }).click();
  // 32 ranks in 16 groups.
  expect(await lanes.count()).toBe(before + 16);
  const text = await found.getByRole("region", { name: "Summary" }).innerText();
  for (const part of ["3 968 of 3 968", "Collectives", "Slowdown", "Settings"]) expect(text).toContain(part);
  await found.screenshot({ path: join(shots, "collective.png") });
  await found.close();
});

test("a host is found, has a card, and is zoomed to; the search stays", async () => {
  const found = await open(page("host", tcd));
  const search = found.locator("input[type=search]");
  await search.fill("r1");
  await search.press("Enter");
  expect(await found.locator("aside h3").first().innerText()).toMatch(/^R1\s+host/);
  expect(await found.locator("aside").innerText()).toContain("T2->R1");
  expect(await search.isVisible()).toBe(true);
  const fit = found.getByRole("button", { name: "fit" });
  expect(await fit.isDisabled()).toBe(true);
  await found.getByRole("button", { name: "to chosen" }).click();
  expect(await fit.isEnabled()).toBe(true);
  await search.blur();
  await found.keyboard.press("f");
  expect(await fit.isDisabled()).toBe(true);
  await found.close();
});

test("a fault is marked where and while it is, has a lane, and says what it cost", async () => {
  const found = await open(page("faults", run("faults", "scenarios/faults.toml")));
  const aside = found.locator("aside");
  await expect.poll(() => aside.innerText()).toContain("fault 0: link-down");
  // 1 ms, for 3 ms; a spine is dead from 7 ms on.
  await found.locator(".fault", { hasText: "fault 0" }).click();
  expect(await now(found)).toBe(1e9);
  expect(await found.locator(".fault", { hasText: "fault 0" }).innerText()).toMatch(/packets lost.*flows lost packets.*goodput of \d+\sreceivers/s);
  expect(await found.locator(".names").innerText()).toContain("fault 2: switch-down");
  const during = await pixels(found, [0x1b, 0x1f, 0x24]);
  await found.screenshot({ path: join(shots, "faults.png") });
  await found.keyboard.press("Home");
  expect(during).toBeGreaterThan((await pixels(found, [0x1b, 0x1f, 0x24])) + 20);
  await found.locator("input[type=search]").fill("spine3");
  await found.locator("aside li button").first().click();
  expect(await aside.innerText()).toContain("fault 2: switch-down");
  expect(await aside.innerText()).not.toContain("fault 0: link-down");
  await found.locator(".fault").click();
  expect(await now(found)).toBe(7e9);
  await found.screenshot({ path: join(shots, "faults-switch.png") });
  await found.close();
});

// The page of every scenario of the repository, under each of its schemes: none may fail, whatever is chosen in it.
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { every, scenarios } from "./pages";

/** What is cut short, so that all of it takes two minutes: what a page has to show is there by then. */
const SHORT: Record<string, string[]> = {
  "custom/dcqcn.toml": ["traffic.incast.size=1MB"],
  "gpcnet.toml": ["run.until=50us"],
  "irn.toml": ["run.until=500us"],
  "isolation-and-tcd-one-tree.toml": ["run.until=300us"],
  "isolation-and-tcd.toml": ["run.until=300us"],
  "isolation.toml": ["run.until=200us"],
  "lossless-or-not.toml": ["run.until=150us"],
  "lossy-or-lossless.toml": ["run.until=150us"],
  "mpi-io.toml": ["run.until=300us"],
};

let browser: Browser;

beforeAll(async () => {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
}, 120_000);

afterAll(async () => browser?.close());

/** Everything that went wrong in a page while it was looked at: the roots, a port, a flow that fed it, a search. */
async function problems(page: Page, address: string): Promise<string[]> {
  const found: string[] = [];
  const note = (error: Error) => found.push(error.message);
  const listen = (message: { type(): string; text(): string }) => message.type() === "error" && found.push(message.text());
  page.on("pageerror", note);
  page.on("console", listen);
  await page.goto(address);
  await page.locator("main, [role=alert]").first().waitFor();
  await page.locator("text=Reading…").waitFor({ state: "hidden", timeout: 15_000 }).catch((error: Error) => found.push(error.message));
  for (const alert of await page.locator("[role=alert]").allInnerTexts()) found.push(alert);
  if (!found.length) await look(page);
  page.off("pageerror", note);
  page.off("console", listen);
  return found;
}

async function look(page: Page): Promise<void> {
  for (const folded of await page.locator("aside summary").all()) await folded.click();
  for (const lane of (await page.locator(".names button").all()).slice(0, 1)) await lane.click();
  for (const root of (await page.locator("aside .root").all()).slice(0, 2)) await root.click();
  const chosen = page.getByRole("button", { name: "the chosen root's queue and flows" });
  if (await chosen.count()) {
    await chosen.click();
    await page.locator("aside h3").first().waitFor();
    const feeder = page.locator("aside li button").first();
    if (await feeder.count()) await feeder.click();
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("z");
  for (const wanted of ["h", "->", "flow 0"]) {
    await page.locator("input[type=search]").fill(wanted);
    const first = page.locator("aside li button").first();
    if (await first.count()) await first.click();
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("d");
}

test.each(scenarios)("the page of scenarios/%s draws itself, and its console is silent", async (scenario) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, offline: true });
  const page = await context.newPage();
  const pages = every(scenario, ...(SHORT[scenario] ?? []));
  expect(pages.length).toBeGreaterThan(0);
  const found: Record<string, string[]> = {};
  for (const [name, address] of pages) {
    const wrong = await problems(page, address);
    if (wrong.length) found[name] = wrong;
  }
  expect(found).toEqual({});
  await context.close();
});

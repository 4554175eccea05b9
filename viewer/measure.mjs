// How fast pages open and play in Chromium without a GPU: `node viewer/measure.mjs PAGE.html ...` prints a line for each.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { chromium } from "playwright-core";

/** Seconds of play, of which the best and the median one are told: others use the machine, too. */
const SECONDS = 9;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const file of process.argv.slice(2)) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, offline: true });
  // From the start of the navigation to the frame after the one in which the run is drawn.
  await page.goto(`file://${resolve(file)}`);
  await page.locator("aside").waitFor();
  const opened = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now())))));
  // Slower than usual, so that what is measured is the moment with most to draw and those beside it.
  for (let i = 0; i < 5; i++) await page.keyboard.press("-");
  await page.keyboard.press(" ");
  const rates = await page.evaluate(
    (seconds) =>
      new Promise((done) => {
        const found = [];
        let [begin, frames] = [performance.now(), 0];
        const count = (at) => {
          frames++;
          if (at - begin > 1000) {
            found.push((1000 * frames) / (at - begin));
            [begin, frames] = [at, 0];
          }
          if (found.length < seconds) requestAnimationFrame(count);
          else done(found.sort((a, b) => b - a));
        };
        requestAnimationFrame(count);
      }),
    SECONDS,
  );
  const what = await page.evaluate(() => document.querySelector(".fabric canvas").textContent);
  const [best, median] = [rates[0], rates[SECONDS >> 1]].map((rate) => rate.toFixed(0));
  console.log(`${what}: ${(statSync(file).size / 1e6).toFixed(2)} MB, open after ${(opened / 1000).toFixed(2)} s, ${best} frames/s in the best second, ${median} in the median one`);
  await page.close();
}
await browser.close();

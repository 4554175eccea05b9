// The rows above the slider, drawn on a canvas.
import type { Row } from "./activity";
import type { Theme } from "./colours";
import type { Lane } from "./lanes";
import { axis } from "./text";

/** Height of the axis of time, and of a lane. */
export const AXIS = 18;
export const LANE = 16;

/** One row on its way to the screen: a curve with its greatest height, or a lane. */
export interface Drawn {
  row?: Row;
  most?: number;
  lane?: Lane;
  height: number;
  /** Which of the runs it is of, and a tick of that run in ps. */
  run: number;
  tick?: number;
}

/** What was drawn last, for a picture of it. */
export interface Picture {
  canvas: HTMLCanvasElement;
  drawn: Drawn[];
  height: number;
}

interface Where {
  width: number;
  end: number;
  theme: Theme;
  ticks: number[];
}

export function drawTimeline(c: CanvasRenderingContext2D, drawn: Drawn[], where: Where): void {
  const { width, theme } = where;
  let top = 0;
  for (const each of drawn) {
    if (each.row) drawRow(c, each.row, each.most ?? 1, top, each.height, where);
    else if (each.lane) drawLane(c, each.lane, each.tick ?? 1, top, each.height, where);
    top += each.height;
    c.fillStyle = theme.link;
    c.fillRect(0, top - 1, width, 1);
  }
  drawAxis(c, top, where);
}

function drawRow(c: CanvasRenderingContext2D, row: Row, most: number, top: number, height: number, { width, theme }: Where): void {
  const bins = row.curves[0]?.values.length ?? 0;
  const base = new Float64Array(bins);
  c.globalAlpha = 0.75;
  for (const { values, colour } of row.curves) {
    c.fillStyle = typeof colour === "string" ? theme[colour] : theme.state[colour];
    values.forEach((value, bin) => {
      if (!(value > 0) || !(most > 0)) return;
      const scale = (height - 4) / most;
      const tall = Math.max(0.75, value * scale);
      c.fillRect((bin * width) / bins, top + height - 1 - base[bin] * scale - tall, width / bins, tall);
      base[bin] += value;
    });
  }
  c.globalAlpha = 1;
}

/** Intervals as boxes, every other one lighter, so that those that touch are told apart. */
function drawLane(c: CanvasRenderingContext2D, lane: Lane, tick: number, top: number, height: number, { width, end, theme }: Where): void {
  const scale = (tick * width) / end;
  c.font = "10px system-ui, sans-serif";
  c.textAlign = "left";
  c.textBaseline = "middle";
  lane.spans.forEach(({ start, end: until, words }, i) => {
    const [left, wide] = [start * scale, Math.max(1, (until - start) * scale)];
    c.globalAlpha = i % 2 ? 0.45 : 0.75;
    c.fillStyle = theme.job;
    c.fillRect(left, top + 2, wide, height - 5);
    c.globalAlpha = 1;
    c.fillStyle = theme.ink;
    if (words && c.measureText(words).width + 6 < wide) c.fillText(words, left + 3, top + height / 2);
  });
}

function drawAxis(c: CanvasRenderingContext2D, top: number, { width, end, theme, ticks }: Where): void {
  const [size, unit] = end >= 1e12 ? [1e12, "s"] : end >= 1e9 ? [1e9, "ms"] : [1e6, "µs"];
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "top";
  for (const at of ticks) {
    const x = (at / end) * width;
    const label = axis(at / size) + (at === 0 ? "" : ` ${unit}`);
    const wide = c.measureText(label).width;
    c.fillStyle = theme.faint;
    c.fillRect(Math.min(x, width - 1), top, 1, 4);
    // The last label stays within the picture, if there is room beside the one before.
    c.textAlign = "left";
    c.fillText(label, Math.max(0, Math.min(x - wide / 2, width - wide)), top + 5);
  }
}

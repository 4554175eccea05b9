// What the page shows as one picture, and as a film: titles, networks, legend and timeline on a canvas of their own.
import { STATE_WORDS, STROKE, type Theme } from "./colours";
import { State } from "./run";
import { measured } from "./text";
import type { Picture } from "./timeline";

/** What a picture is made of. */
export interface Shot {
  theme: Theme;
  titles: string[];
  fabrics: HTMLCanvasElement[];
  /** Below each other, or side by side. */
  stacked: boolean;
  timeline: Picture | null;
  now: number;
  end: number;
  clock: string;
}

const MARGIN = 14;
const TITLE = 26;
const LEGEND = 26;
const NAMES = 170;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

/** Paints the picture; the canvas takes the size that it needs. */
export function paint(canvas: HTMLCanvasElement, shot: Shot): void {
  const { theme, fabrics, stacked, timeline } = shot;
  const scale = devicePixelRatio || 1;
  const wide = fabrics.map((fabric) => fabric.clientWidth);
  const high = fabrics.map((fabric) => fabric.clientHeight + TITLE);
  const inner = stacked ? Math.max(...wide) : wide.reduce((a, b) => a + b, 0);
  const upper = stacked ? high.reduce((a, b) => a + b, 0) : Math.max(...high);
  // Films need even sizes.
  const [width, height] = [inner + 2 * MARGIN, LEGEND + upper + (timeline?.height ?? 0) + 2 * MARGIN].map((size) => 2 * Math.ceil(size / 2));
  const [w, h] = [2 * Math.round((width * scale) / 2), 2 * Math.round((height * scale) / 2)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const c = canvas.getContext("2d");
  if (!c) return;
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.fillStyle = theme.ground;
  c.fillRect(0, 0, width, height);
  c.textBaseline = "middle";
  c.textAlign = "left";
  legend(c, theme, MARGIN, MARGIN + 8);
  c.textAlign = "right";
  c.font = `600 13px ${FONT}`;
  c.fillStyle = theme.ink;
  c.fillText(shot.clock, width - MARGIN, MARGIN + 8);
  c.textAlign = "left";
  let [x, y] = [MARGIN, MARGIN + LEGEND];
  fabrics.forEach((fabric, i) => {
    c.font = `600 14px ${FONT}`;
    c.fillStyle = theme.ink;
    c.fillText(shot.titles[i], x, y + TITLE / 2, wide[i]);
    c.drawImage(fabric, x, y + TITLE, wide[i], high[i] - TITLE);
    if (stacked) y += high[i];
    else x += wide[i];
  });
  if (timeline) rows(c, shot, timeline, MARGIN + LEGEND + upper, inner);
}

function rows(c: CanvasRenderingContext2D, { theme, now, end }: Shot, timeline: Picture, top: number, inner: number): void {
  c.font = `12px ${FONT}`;
  let y = top;
  for (const { row, lane, most, height, run } of timeline.drawn) {
    const words = row ? `${row.name}${run ? " (2)" : ""} ≤ ${measured(most ?? 0, row.unit)}` : lane?.name;
    c.fillStyle = theme.ink;
    c.fillText(words ?? "", MARGIN, y + height / 2, NAMES - 8);
    y += height;
  }
  const width = inner - NAMES;
  c.drawImage(timeline.canvas, MARGIN + NAMES, top, width, timeline.height);
  c.fillStyle = theme.ink;
  c.fillRect(MARGIN + NAMES + (now / end) * width - 1, top, 2, timeline.height - 14);
}

function legend(c: CanvasRenderingContext2D, theme: Theme, left: number, y: number): void {
  let x = left;
  c.font = `12px ${FONT}`;
  const word = (text: string, wide: number) => {
    c.fillStyle = theme.ink;
    c.fillText(text, x + wide + 5, y);
    x += wide + 5 + c.measureText(text).width + 14;
  };
  for (const state of [State.Free, State.Congested, State.Undetermined, State.Paused]) {
    c.strokeStyle = theme.state[state];
    c.lineWidth = STROKE[state].width;
    c.setLineDash(STROKE[state].dash);
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(x + 26, y);
    c.stroke();
    c.setLineDash([]);
    word(STATE_WORDS[state], 26);
  }
  c.fillStyle = theme.queue;
  c.fillRect(x, y - 3, 20, 6);
  word("queue", 20);
  c.fillStyle = theme.culprit;
  c.beginPath();
  c.moveTo(x, y + 5);
  c.lineTo(x + 12, y + 5);
  c.lineTo(x + 6, y - 5);
  c.fill();
  word("culprit", 12);
  c.strokeStyle = theme.victim;
  c.lineWidth = 2;
  c.beginPath();
  c.arc(x + 5, y, 4.5, 0, 2 * Math.PI);
  c.stroke();
  word("victim", 10);
}

/** Saves a file by the browser. */
export function save(data: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A picture in a file. */
export async function png(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((done, fail) => canvas.toBlob((data) => (data ? done(data) : fail(new Error("the browser makes no picture of it"))), "image/png"));
}

/** The kind of film that the browser can make; empty if it can make none. */
export function filmKind(): string {
  if (typeof MediaRecorder === "undefined") return "";
  return ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm", "video/mp4"].find((kind) => MediaRecorder.isTypeSupported(kind)) ?? "";
}

/** Records what is painted on a canvas until it is stopped. */
export function film(canvas: HTMLCanvasElement, kind: string): () => Promise<Blob> {
  const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: kind, videoBitsPerSecond: 8_000_000 });
  const parts: Blob[] = [];
  recorder.ondataavailable = (event) => parts.push(event.data);
  recorder.start();
  return () =>
    new Promise((done) => {
      recorder.onstop = () => done(new Blob(parts, { type: kind.split(";")[0] }));
      recorder.stop();
    });
}

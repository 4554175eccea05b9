// What is drawn into a port's chart beside its queue: when its gate was closed, its state, its marks.
import type uPlot from "uplot";
import type { Theme } from "./colours";
import { type Run, State } from "./run";
import type { Spans } from "./spans";

const LANE = 9;
/** Room above the queue for the lanes, in pixels. */
export const LANES = 52;

/** Shades the times at which the gate was closed, and fills the lanes of gate and state above the queue. */
export function strips(u: uPlot, run: Run, port: number, theme: Theme): void {
  const lane = LANE * devicePixelRatio;
  const top = u.bbox.top - LANES * devicePixelRatio;
  u.ctx.fillStyle = theme.link;
  u.ctx.globalAlpha = 0.4;
  for (const at of [top, top + lane + 3]) u.ctx.fillRect(u.bbox.left, at, u.bbox.width, lane);
  fill(u, run, run.gates, port, () => theme.state[State.Paused], u.bbox.top, u.bbox.height, 0.16);
  fill(u, run, run.gates, port, () => theme.state[State.Paused], top, lane, 1);
  const judge = run.judges ? run.states : run.long;
  const state = run.column("states.state");
  const colour = (row: number) =>
    run.judges && state[row] !== 1 ? theme.state[State.Undetermined] : theme.state[State.Congested];
  fill(u, run, judge, port, colour, top + lane + 3, lane, 1);
}

function fill(
  u: uPlot,
  run: Run,
  spans: Spans,
  port: number,
  colour: (row: number) => string,
  top: number,
  height: number,
  alpha: number,
): void {
  const [from, to] = spans.rows(port);
  const scale = run.tick / 1e6;
  u.ctx.globalAlpha = alpha;
  for (let row = from; row < to; row++) {
    const left = u.valToPos(spans.start[row] * scale, "x", true);
    const right = u.valToPos(spans.end[row] * scale, "x", true);
    u.ctx.fillStyle = colour(row);
    u.ctx.fillRect(left, top, Math.max(0.5, right - left), height);
  }
  u.ctx.globalAlpha = 1;
}

/** Marks as bars below these lanes: CE upwards from a middle, UE downwards. */
export function marksAt(u: uPlot, run: Run, port: number, theme: Theme): void {
  const { us, ce, ue } = run.marks(port);
  const most = Math.max(1, ...ce, ...ue);
  const middle = u.bbox.top - 14 * devicePixelRatio;
  const tall = 11 * devicePixelRatio;
  const width = Math.max(1, (u.bbox.width * run.header.bin_ps) / run.header.end_ps);
  us.forEach((at, i) => {
    const x = u.valToPos(at, "x", true) - width / 2;
    u.ctx.fillStyle = theme.state[State.Congested];
    u.ctx.fillRect(x, middle - (ce[i] / most) * tall, width, (ce[i] / most) * tall);
    u.ctx.fillStyle = theme.state[State.Undetermined];
    u.ctx.fillRect(x, middle, width, (ue[i] / most) * tall);
  });
}

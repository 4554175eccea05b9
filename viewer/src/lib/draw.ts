// The fabric drawn on a canvas: what never changes once, into a picture of its own; what moves in every frame.
import { STROKE, type Theme } from "./colours";
import { wrong } from "./faults";
import type { Layout } from "./layout";
import type { Path } from "./paths";
import { type Branch, type Lens, type Run, State } from "./run";

/** What is to be seen. */
export interface Scene {
  run: Run;
  layout: Layout;
  theme: Theme;
  time: number;
  lens: Lens;
  /** The root whose tree is highlighted, -1 for none, and its branches now. */
  root: number;
  tree: Branch[];
  /** A chosen port, -1 for none; a chosen flow's path. */
  port: number;
  path: Path | null;
  /** A chosen node, -1 for none. */
  node: number;
  culprits: Set<number>;
  victims: Set<number>;
}

/** Where things are on the screen. */
export interface Frame {
  width: number;
  height: number;
  /** Zoom of x and of y, and shift in pixels. */
  zoom: number;
  zoomY: number;
  panX: number;
  panY: number;
}

export interface Point {
  x: number;
  y: number;
}

const MARGIN = { x: 14, top: 34, bottom: 34 };

/** The place of a node in pixels. */
export function nodeAt({ layout }: Pick<Scene, "layout">, frame: Frame, node: number): Point {
  const width = frame.width - 2 * MARGIN.x;
  const height = frame.height - MARGIN.top - MARGIN.bottom;
  return {
    x: (MARGIN.x + layout.x[node] * width - frame.width / 2) * frame.zoom + frame.width / 2 + frame.panX,
    y: (MARGIN.top + layout.y[node] * height - frame.height / 2) * frame.zoomY + frame.height / 2 + frame.panY,
  };
}

/** How far a direction of a link is drawn beside its middle. */
function aside(scene: Pick<Scene, "layout">, frame: Frame): number {
  const pitch = scene.layout.pitch * frame.width * frame.zoom;
  return Math.max(0.7, Math.min(3, pitch / 5));
}

/** The line of an egress port, from its node to its peer, on the right of the middle as traffic goes. */
export function line(scene: Pick<Scene, "layout" | "run">, frame: Frame, port: number): [Point, Point] {
  const from = nodeAt(scene, frame, scene.run.node[port]);
  if (scene.run.drain[port]) return [from, { x: from.x, y: from.y + 16 }];
  const to = nodeAt(scene, frame, scene.run.peer[port]);
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const shift = aside(scene, frame);
  const [dx, dy] = [(-(to.y - from.y) / length) * shift, ((to.x - from.x) / length) * shift];
  return [
    { x: from.x + dx, y: from.y + dy },
    { x: to.x + dx, y: to.y + dy },
  ];
}

/** The links and nodes at rest. */
export function drawGround(c: CanvasRenderingContext2D, scene: Pick<Scene, "run" | "layout" | "theme">, frame: Frame): void {
  const { run, theme } = scene;
  c.fillStyle = theme.ground;
  c.fillRect(0, 0, frame.width, frame.height);
  // Many links would be one grey.
  c.globalAlpha = Math.max(0.3, Math.min(1, 2000 / Math.max(1, run.ports)));
  c.strokeStyle = theme.link;
  c.lineWidth = 1;
  const all = Array.from({ length: run.ports }, (_, port) => port).filter((port) => !run.drain[port]);
  trace(c, scene, frame, all.filter((port) => run.node[port] < run.peer[port]), false);
  // What was used on average over the run, each direction by itself.
  c.strokeStyle = theme.use;
  c.globalAlpha = Math.max(0.05, Math.min(1, 2000 / Math.max(1, run.ports)));
  const used = all.map((port) => Math.ceil(run.use(port) * 4 - 0.2));
  for (const [step, width] of [[1, 0.6], [2, 1], [3, 1.4], [4, 1.9]]) {
    c.lineWidth = width;
    trace(c, scene, frame, all.filter((_, i) => Math.min(4, used[i]) === step));
  }
  c.globalAlpha = 1;
}

/** One moment, between what is at rest: `nodes` is a picture of them. */
export function drawMoment(c: CanvasRenderingContext2D, scene: Scene, frame: Frame, nodes: CanvasImageSource): void {
  drawTree(c, scene, frame);
  drawPath(c, scene, frame);
  drawStates(c, scene, frame);
  c.drawImage(nodes, 0, 0, frame.width, frame.height);
  drawRoles(c, scene, frame);
  drawFaults(c, scene, frame);
  drawRoot(c, scene, frame);
  drawChosen(c, scene, frame);
}

function drawTree(c: CanvasRenderingContext2D, scene: Scene, frame: Frame): void {
  if (scene.root < 0) return;
  const ports = scene.tree.map((branch) => branch.port);
  const live = ports.length > 0 || scene.run.isRoot(scene.root, scene.time);
  if (!live) return;
  c.strokeStyle = scene.theme.halo;
  c.lineCap = "round";
  c.lineWidth = 11;
  trace(c, scene, frame, [scene.root, ...ports]);
  c.lineCap = "butt";
}

function drawPath(c: CanvasRenderingContext2D, scene: Scene, frame: Frame): void {
  if (!scene.path) return;
  c.strokeStyle = scene.theme.path;
  c.lineWidth = 7;
  c.globalAlpha = 0.75;
  trace(c, scene, frame, scene.path.sure);
  c.lineWidth = 2;
  c.setLineDash([2, 5]);
  trace(c, scene, frame, scene.path.maybe);
  c.setLineDash([]);
  c.globalAlpha = 1;
}

function trace(
  c: CanvasRenderingContext2D,
  scene: Pick<Scene, "run" | "layout">,
  frame: Frame,
  ports: Iterable<number>,
  beside = true,
): void {
  c.beginPath();
  for (const port of ports) {
    const { node, peer } = scene.run;
    const [a, b] = beside ? line(scene, frame, port) : [nodeAt(scene, frame, node[port]), nodeAt(scene, frame, peer[port])];
    c.moveTo(a.x, a.y);
    c.lineTo(b.x, b.y);
  }
  c.stroke();
}

function drawStates(c: CanvasRenderingContext2D, scene: Scene, frame: Frame): void {
  const { run, theme, time, lens } = scene;
  const inTree = new Set(scene.tree.map((branch) => branch.port)).add(scene.root);
  const dims = scene.tree.length > 0;
  const dim = Math.max(0.15, Math.min(0.45, 700 / Math.max(1, run.ports)));
  const lists: Record<State, number[]>[] = [blank(), blank()];
  const bars: Record<State, [number, number][]>[] = [blank(), blank()];
  for (const port of run.lively) {
    const other = dims && !inTree.has(port) ? 1 : 0;
    const list = lists[other];
    const verdict = run.verdict(port, time, lens);
    if (verdict !== State.Free) list[verdict].push(port);
    if (run.paused(port, time)) list[State.Paused].push(port);
    const queue = run.queue(port, time);
    if (queue > 0) bars[other][verdict].push([port, queue]);
  }
  for (const dimmed of [1, 0]) {
    c.globalAlpha = dimmed ? dim : 1;
    // What is paused shows its verdict between the dashes.
    for (const state of [State.Undetermined, State.Congested, State.Paused]) {
      c.strokeStyle = theme.state[state];
      c.lineWidth = STROKE[state].width;
      // Each dash takes its time: many lines have fewer of them.
      const longer = Math.max(1, Math.min(4, lists[dimmed][state].length / 60));
      c.setLineDash(STROKE[state].dash.map((length) => length * longer));
      trace(c, scene, frame, lists[dimmed][state]);
    }
  }
  c.setLineDash([]);
  c.lineWidth = Math.max(3, Math.min(9, 2.6 * aside(scene, frame)));
  for (const dimmed of [1, 0]) {
    c.globalAlpha = dimmed ? dim : 1;
    for (const state of [State.Free, State.Undetermined, State.Congested]) {
      c.strokeStyle = state === State.Free ? theme.queue : theme.state[state];
      // All of a colour at once: thousands of strokes of their own would take long.
      c.beginPath();
      for (const [port, queue] of bars[dimmed][state]) traceQueue(c, scene, frame, port, queue);
      c.stroke();
    }
  }
  c.globalAlpha = 1;
}

function blank<T>(): Record<State, T[]> {
  return { [State.Free]: [], [State.Congested]: [], [State.Undetermined]: [], [State.Paused]: [] };
}

/** A queue as a bar that grows from its port along the link, by the square root; the longest of the run takes two fifths. */
function traceQueue(c: CanvasRenderingContext2D, scene: Scene, frame: Frame, port: number, queue: number): void {
  const [a, b] = line(scene, frame, port);
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const share = 0.4 * Math.sqrt(queue / Math.max(1, scene.run.peakQueue));
  if (share * length < 2) return;
  const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
  const lead = Math.min(8, length * 0.1);
  c.moveTo(a.x + ux * lead, a.y + uy * lead);
  c.lineTo(a.x + ux * (lead + share * length), a.y + uy * (lead + share * length));
}

/** Half the width of a switch's box. */
export function boxOf(scene: Pick<Scene, "layout">, frame: Frame, node: number): Point {
  const { tier, room, pitch } = scene.layout;
  const wide = (frame.width - 2 * MARGIN.x) * frame.zoom;
  if (tier[node] === 0) return { x: Math.max(1.2, Math.min(7, pitch * wide * 0.32)), y: 4 };
  const half = Math.max(2, Math.min(32, room[tier[node]] * wide * 0.44));
  return { x: half, y: Math.max(5, Math.min(11, half)) };
}

const SWITCH_FONT = "11px system-ui, sans-serif";
const HOST_FONT = "10px system-ui, sans-serif";

/** Which tiers have room for the names of all their nodes. */
function tiersWithNames(c: CanvasRenderingContext2D, { run, layout }: Pick<Scene, "run" | "layout">, frame: Frame): boolean[] {
  const longest: string[] = [];
  run.header.nodes.forEach((name, node) => {
    if (name.length > (longest[layout.tier[node]] ?? "").length) longest[layout.tier[node]] = name;
  });
  const wide = (frame.width - 2 * MARGIN.x) * frame.zoom;
  return longest.map((name, tier) => {
    c.font = tier === 0 ? HOST_FONT : SWITCH_FONT;
    const room = tier === 0 ? layout.pitch * wide : Math.min(62, layout.room[tier] * wide * 0.88);
    return c.measureText(name).width + 1 < room;
  });
}

/** Of a tier whose nodes are too close for names, the first and the last name. */
function drawTierNames(
  c: CanvasRenderingContext2D,
  { run, layout, theme }: Pick<Scene, "run" | "layout" | "theme">,
  frame: Frame,
  named: boolean[],
): void {
  c.font = HOST_FONT;
  c.textAlign = "left";
  named.forEach((fits, tier) => {
    if (fits || frame.zoom > 1) return;
    const nodes = run.header.nodes.map((_, node) => node).filter((node) => layout.tier[node] === tier);
    const ordered = nodes.sort((a, b) => layout.x[a] - layout.x[b]);
    if (ordered.length < 2) return;
    const { y } = nodeAt({ layout }, frame, ordered[0]);
    const ends = `${run.header.nodes[ordered[0]]} … ${run.header.nodes[ordered[ordered.length - 1]]}`;
    const at = { x: 4, y: tier === 0 ? y + 16 : y - 20 };
    c.fillStyle = theme.ground;
    c.fillRect(at.x - 2, at.y - 7, c.measureText(ends).width + 4, 14);
    c.fillStyle = theme.faint;
    c.fillText(ends, at.x, at.y);
  });
  c.textAlign = "center";
}

/** The nodes at rest: switches, and hosts as dots. */
export function drawNodes(c: CanvasRenderingContext2D, scene: Pick<Scene, "run" | "layout" | "theme">, frame: Frame): void {
  const { run, theme, layout } = scene;
  c.clearRect(0, 0, frame.width, frame.height);
  c.textAlign = "center";
  c.textBaseline = "middle";
  c.lineWidth = 1;
  const named = tiersWithNames(c, scene, frame);
  if (layout.kind === "tiers") drawTierNames(c, scene, frame, named);
  run.header.nodes.forEach((name, node) => {
    const { x, y } = nodeAt(scene, frame, node);
    if (!seen(frame, { x, y })) return;
    const box = boxOf(scene, frame, node);
    if (layout.tier[node] === 0) {
      c.fillStyle = theme.faint;
      c.beginPath();
      c.arc(x, y, Math.min(3.4, box.x), 0, 2 * Math.PI);
      c.fill();
      if (!named[0]) return;
      c.font = HOST_FONT;
      c.fillText(name, x, y + 14);
      return;
    }
    c.font = SWITCH_FONT;
    c.fillStyle = theme.node;
    c.strokeStyle = theme.faint;
    c.beginPath();
    c.roundRect(x - box.x, y - box.y, 2 * box.x, 2 * box.y, 3);
    c.fill();
    c.stroke();
    c.fillStyle = theme.ink;
    if (named[layout.tier[node]]) c.fillText(name, x, y + 0.5);
  });
}

function seen(frame: Frame, { x, y }: Point): boolean {
  return x >= -40 && x <= frame.width + 40 && y >= -40 && y <= frame.height + 40;
}

/** The hosts with a part in the tree: a culprit is a full triangle, a victim an open circle. */
function drawRoles(c: CanvasRenderingContext2D, scene: Scene, frame: Frame): void {
  const { theme } = scene;
  for (const [hosts, isCulprit] of [[scene.victims, false], [scene.culprits, true]] as const) {
    for (const node of hosts) {
      const { x, y } = nodeAt(scene, frame, node);
      if (!seen(frame, { x, y })) continue;
      const size = Math.max(3.2, boxOf(scene, frame, node).x);
      // The dot of the host at rest is under it.
      c.fillStyle = theme.ground;
      c.beginPath();
      c.arc(x, y, 4, 0, 2 * Math.PI);
      c.fill();
      c.beginPath();
      if (isCulprit) {
        c.fillStyle = theme.culprit;
        c.moveTo(x - size, y + size);
        c.lineTo(x + size, y + size);
        c.lineTo(x, y - size);
        c.fill();
      } else {
        c.strokeStyle = theme.victim;
        c.lineWidth = 2;
        c.arc(x, y, Math.max(2.6, size * 0.8), 0, 2 * Math.PI);
        c.stroke();
      }
    }
  }
  c.lineWidth = 1;
}

/** Beyond so many faults at a moment their signs alone are drawn. */
const NAMED_FAULTS = 4;

/** What is wrong at the moment: a cross on what is dead, a triangle with a point on what is not as it should be. */
function drawFaults(c: CanvasRenderingContext2D, scene: Scene, frame: Frame): void {
  const { run, theme, time } = scene;
  const found = wrong(run, time);
  for (const { fault, node, peer } of found) {
    const [a, b] = [nodeAt(scene, frame, node), nodeAt(scene, frame, peer < 0 ? node : peer)];
    // On a node it would cover the name.
    const at = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 + (peer < 0 ? 16 : 0) };
    if (!seen(frame, at)) continue;
    const told = run.header.faults?.[fault];
    c.lineCap = "round";
    c.lineJoin = "round";
    for (const [width, colour] of [[7, theme.ground], [2.6, theme.ink]] as const) {
      c.strokeStyle = colour;
      c.lineWidth = width;
      c.beginPath();
      if (told?.dead) {
        c.moveTo(at.x - 6, at.y - 6);
        c.lineTo(at.x + 6, at.y + 6);
        c.moveTo(at.x - 6, at.y + 6);
        c.lineTo(at.x + 6, at.y - 6);
      } else {
        c.moveTo(at.x - 7, at.y + 6);
        c.lineTo(at.x + 7, at.y + 6);
        c.lineTo(at.x, at.y - 7);
        c.closePath();
      }
      c.stroke();
    }
    c.lineCap = "butt";
    c.lineJoin = "miter";
    if (told && found.length <= NAMED_FAULTS) tag(c, scene, frame, at, told.name);
  }
  c.lineWidth = 1;
}

function drawRoot(c: CanvasRenderingContext2D, scene: Scene, frame: Frame): void {
  if (scene.root < 0) return;
  const [a, b] = line(scene, frame, scene.root);
  const live = scene.tree.length > 0 || scene.run.isRoot(scene.root, scene.time);
  const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  c.strokeStyle = scene.theme.ink;
  c.lineWidth = live ? 2.5 : 1;
  for (const radius of live ? [7, 11] : [7]) {
    c.beginPath();
    c.arc(middle.x, middle.y, radius, 0, 2 * Math.PI);
    c.stroke();
  }
  // The drain of a host is below it, where names are.
  const place = scene.run.drain[scene.root] ? { x: a.x, y: a.y - 20 } : middle;
  tag(c, scene, frame, place, `root ${scene.run.label(scene.root)}`);
}

function drawChosen(c: CanvasRenderingContext2D, scene: Scene, frame: Frame): void {
  if (scene.node >= 0) {
    const at = nodeAt(scene, frame, scene.node);
    const box = boxOf(scene, frame, scene.node);
    c.strokeStyle = scene.theme.ink;
    c.lineWidth = 2;
    c.beginPath();
    c.roundRect(at.x - box.x - 4, at.y - box.y - 4, 2 * box.x + 8, 2 * box.y + 8, 5);
    c.stroke();
    tag(c, scene, frame, { x: at.x - 10, y: at.y - box.y - 18 }, scene.run.header.nodes[scene.node]);
  }
  if (scene.port < 0) return;
  const [a, b] = line(scene, frame, scene.port);
  c.strokeStyle = scene.theme.ink;
  c.lineWidth = 1.5;
  c.setLineDash([1, 3]);
  trace(c, scene, frame, [scene.port]);
  c.setLineDash([]);
  if (scene.port === scene.root) return;
  tag(c, scene, frame, { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 }, scene.run.label(scene.port));
}

/** A label beside a place, within the picture. */
function tag(c: CanvasRenderingContext2D, scene: Scene, frame: Frame, at: Point, text: string): void {
  c.font = "600 12px system-ui, sans-serif";
  c.textAlign = "left";
  c.textBaseline = "middle";
  const width = c.measureText(text).width + 10;
  const x = at.x + 16 + width > frame.width ? Math.max(2, at.x - 16 - width) : at.x + 16;
  c.globalAlpha = 0.9;
  c.fillStyle = scene.theme.ground;
  c.beginPath();
  c.roundRect(x, at.y - 10, width, 20, 4);
  c.fill();
  c.globalAlpha = 1;
  c.fillStyle = scene.theme.ink;
  c.fillText(text, x + 5, at.y + 0.5);
}

/**
 * The egress port whose line is nearest to a place, or a node's box that it is in; nothing farther than 8 pixels. Of the
 * two directions of a link the one where something happens is meant.
 */
export function hit(scene: Scene, frame: Frame, at: Point): { port: number; node: number } {
  const { run, time, lens } = scene;
  const quiet = (port: number) => run.state(port, time, lens) === State.Free && run.queue(port, time) === 0;
  let [best, near] = [-1, Infinity];
  for (let node = 0; node < scene.run.header.nodes.length; node++) {
    const place = nodeAt(scene, frame, node);
    const box = boxOf(scene, frame, node);
    if (Math.abs(place.x - at.x) <= box.x + 1 && Math.abs(place.y - at.y) <= box.y + 1) return { port: -1, node };
  }
  for (let port = 0; port < scene.run.ports; port++) {
    const away = distance(at, ...line(scene, frame, port));
    if (away >= 8) continue;
    const score = away + (quiet(port) ? 2 * aside(scene, frame) : 0);
    if (score < near) [best, near] = [port, score];
  }
  return { port: best, node: -1 };
}

function distance(p: Point, a: Point, b: Point): number {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy || 1);
  const t = Math.max(0, Math.min(1, along));
  return Math.hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/** The frame in which what is chosen fills the middle of the picture: nodes, and the ends of these ports. */
export function framed(scene: Pick<Scene, "layout" | "run">, size: { width: number; height: number }, ports: Iterable<number>, nodes: number[]): Frame {
  const whole: Frame = { ...size, ...WHOLE };
  const ends = [...nodes, ...[...ports].flatMap((port) => [scene.run.node[port], scene.run.peer[port]])];
  if (!ends.length) return whole;
  const at = ends.map((node) => nodeAt(scene, whole, node));
  const [xs, ys] = [at.map(({ x }) => x), at.map(({ y }) => y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  // Some neighbours of what is chosen are seen with it.
  const wide = Math.max(right - left, 10 * scene.layout.pitch * size.width);
  const zoom = Math.max(1, Math.min(zoomMost(scene, size.width), (0.6 * size.width) / wide));
  // Between tiers there is only so much to see: both ends of a link stay in the picture.
  const zoomY = Math.max(1, Math.min(zoom, (0.6 * size.height) / Math.max(1, bottom - top)));
  return centred(whole, { x: (left + right) / 2, y: (top + bottom) / 2 }, zoom, zoomY);
}

export const WHOLE = { zoom: 1, zoomY: 1, panX: 0, panY: 0 };

/** As far as hosts are apart enough to read their names. */
export function zoomMost({ layout }: Pick<Scene, "layout">, width: number): number {
  return Math.max(20, 60 / Math.max(1e-9, layout.pitch * width));
}

/** The zoom of y, when x is zoomed on from one to another. Hosts stand close to each other, tiers do not. */
export function zoomOfY({ layout }: Pick<Scene, "layout">, frame: Frame, zoom: number): number {
  return Math.max(1, frame.zoomY * (zoom / frame.zoom) ** (layout.kind === "tiers" ? 0.3 : 1));
}

/** The frame with this zoom in whose middle is a place of the frame `from`. */
export function centred(from: Frame, at: Point, zoom: number, zoomY: number): Frame {
  if (zoom <= 1) return { ...from, ...WHOLE };
  const [x, y] = [(at.x - from.width / 2 - from.panX) / from.zoom, (at.y - from.height / 2 - from.panY) / from.zoomY];
  return { ...from, zoom, zoomY, panX: -x * zoom, panY: -y * zoomY };
}

/** The middle of what is chosen, in pixels of a frame; null without any. */
export function middle(scene: Pick<Scene, "layout" | "run">, frame: Frame, ports: number[], nodes: number[]): Point | null {
  const at = [...nodes.map((node) => nodeAt(scene, frame, node)), ...ports.flatMap((port) => line(scene, frame, port))];
  if (!at.length) return null;
  const mean = (values: number[]) => (Math.min(...values) + Math.max(...values)) / 2;
  return { x: mean(at.map(({ x }) => x)), y: mean(at.map(({ y }) => y)) };
}

// Which hosts send what feeds a root now, and which send what waits for it without a fault of theirs.
import type { Branch, Run } from "./run";

export interface Roles {
  culprits: Set<number>;
  victims: Set<number>;
}

/** Flows that waited at a port, by row of the flows table; made once for each run. */
const waiting = new WeakMap<Run, Map<number, number[]>>();

function rowsAt(run: Run): Map<number, number[]> {
  const known = waiting.get(run);
  if (known) return known;
  const found = new Map<number, number[]>();
  const [flow, port] = [run.column("waits.flow"), run.column("waits.port")];
  for (let i = 0; i < flow.length; i++) {
    const row = run.row(flow[i]);
    if (row < 0) continue;
    const list = found.get(port[i]);
    if (list) list.push(row);
    else found.set(port[i], [row]);
  }
  waiting.set(run, found);
  return found;
}

const feeding = new WeakMap<Run, Map<number, number[]>>();

/** Rows of the flows that fed a root. */
function feeders(run: Run, root: number): number[] {
  let known = feeding.get(run);
  if (!known) feeding.set(run, (known = new Map()));
  let rows = known.get(root);
  if (!rows) known.set(root, (rows = run.feeders(root).map(([flow]) => run.row(flow)).filter((row) => row >= 0)));
  return rows;
}

/** Flows by the host that sends them, by row of the flows table. */
const sending = new WeakMap<Run, Map<number, number[]>>();

function rowsOf(run: Run): Map<number, number[]> {
  const known = sending.get(run);
  if (known) return known;
  const found = new Map<number, number[]>();
  run.column("flows.src").forEach((host, row) => {
    const list = found.get(host);
    if (list) list.push(row);
    else found.set(host, [row]);
  });
  sending.set(run, found);
  return found;
}

/**
 * The hosts of culprits and victims of a root's tree at a time (ticks). A culprit sends a flow that feeds the root; a
 * victim sends one that does not, and waited in the tree, or whose host's own port stands in it. A host that is both
 * counts as culprit. Of a tree that is not there now nobody is either.
 */
export function roles(run: Run, root: number, tree: Branch[], time: number): Roles {
  const [culprits, victims] = [new Set<number>(), new Set<number>()];
  if (root < 0 || (tree.length === 0 && !run.isRoot(root, time))) return { culprits, victims };
  const source = run.column("flows.src");
  const feeds = new Set(feeders(run, root));
  for (const row of feeds) if (run.underWay(row, time)) culprits.add(source[row]);
  const waited = rowsAt(run);
  const sent = rowsOf(run);
  for (const { port } of tree) {
    for (const row of [...(waited.get(port) ?? []), ...(sent.get(run.node[port]) ?? [])]) {
      if (!feeds.has(row) && run.underWay(row, time) && !culprits.has(source[row])) victims.add(source[row]);
    }
  }
  return { culprits, victims };
}

// Jobs and collectives over time: a lane for each, and below it one for each group of its ranks.
import type { Run } from "./run";

export interface LaneSpan {
  /** In ticks. */
  start: number;
  end: number;
  words: string;
}

export interface Lane {
  key: string;
  name: string;
  meaning: string;
  spans: LaneSpan[];
  inner: Lane[];
}

const made = new WeakMap<Run, Lane[]>();

/** The lanes of a run; those within one are its groups of ranks. */
export function lanes(run: Run): Lane[] {
  const known = made.get(run);
  if (known) return known;
  const told = run.header.lanes ?? [];
  const all = told.map(({ name, meaning }, i): Lane => ({ key: `${i} ${name}`, name, meaning, spans: [], inner: [] }));
  const [lane, start, length, word] = ["lane", "start", "length", "word"].map((name) => run.column(`lanes.${name}`));
  lane.forEach((number, row) => {
    all[number]?.spans.push({ start: start[row], end: start[row] + length[row], words: run.header.lane_words?.[word[row]] ?? "" });
  });
  all.forEach((each, i) => told[i].of >= 0 && all[told[i].of]?.inner.push(each));
  const found = all.filter((_, i) => told[i].of < 0);
  made.set(run, found);
  return found;
}

/** These lanes with those within the ones that are open. */
export function opened(found: Lane[], open: string[]): Lane[] {
  return found.flatMap((lane) => (open.includes(lane.key) ? [lane, ...lane.inner] : [lane]));
}

// Colours of Okabe and Ito, which people with any colour vision tell apart; every state has a stroke of its own besides.
import { State } from "./run";

export interface Theme {
  dark: boolean;
  ground: string;
  ink: string;
  faint: string;
  link: string;
  use: string;
  node: string;
  queue: string;
  halo: string;
  state: Record<State, string>;
  culprit: string;
  victim: string;
  path: string;
  job: string;
}

const VERMILLION = "#D55E00";
const ORANGE = "#E69F00";
const YELLOW = "#F0E442";
const BLUE = "#0072B2";
const SKY = "#56B4E9";
const GREEN = "#009E73";
const PURPLE = "#CC79A7";

export const LIGHT: Theme = {
  dark: false,
  ground: "#ffffff",
  ink: "#1b1f24",
  faint: "#5b6470",
  link: "#d3d8de",
  use: "#c0c8d0",
  node: "#f3f5f7",
  queue: "#7d8793",
  halo: "rgba(27,31,36,0.13)",
  state: { [State.Free]: "#aeb6bf", [State.Congested]: VERMILLION, [State.Undetermined]: ORANGE, [State.Paused]: BLUE },
  culprit: VERMILLION,
  victim: GREEN,
  path: "#8f3f76",
  job: GREEN,
};

export const DARK: Theme = {
  dark: true,
  ground: "#14171b",
  ink: "#eceff3",
  faint: "#a5aeb9",
  link: "#353c45",
  use: "#48525d",
  node: "#232930",
  queue: "#98a2ae",
  halo: "rgba(236,239,243,0.17)",
  state: { [State.Free]: "#515a65", [State.Congested]: "#F0701A", [State.Undetermined]: YELLOW, [State.Paused]: SKY },
  culprit: "#F0701A",
  victim: "#2BC89A",
  path: PURPLE,
  job: "#2BC89A",
};

/** Dashes and widths of the states, so that colour is never the only sign. */
export const STROKE: Record<State, { width: number; dash: number[] }> = {
  [State.Free]: { width: 1, dash: [] },
  [State.Congested]: { width: 4.4, dash: [] },
  [State.Undetermined]: { width: 3.4, dash: [] },
  [State.Paused]: { width: 2, dash: [6, 4] },
};

export const STATE_WORDS: Record<State, string> = {
  [State.Free]: "free",
  [State.Congested]: "congested",
  [State.Undetermined]: "undetermined",
  [State.Paused]: "paused",
};

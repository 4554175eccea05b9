//! The scenarios of the TCD paper (SIGCOMM 2021) under the rules of its authors' release, against the numbers of an
//! independent check of the same rules: a second, small packet simulator with the authors' state machine, pause
//! mechanics and burst file. Times count from the start of the bursts.
mod burst_patterns;
mod figure_12;
mod figure_13;
mod figure_14;
mod figure_2;
mod figure_3;
mod ideal_pauses;
mod infiniband;

//! What brings traffic in: sources, and files of others.
mod hostile;
mod sources;

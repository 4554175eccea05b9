//! The header, and a program in C that uses it.
mod c;
mod header;

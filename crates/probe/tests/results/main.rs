//! A results folder, seen from outside: tables read back, budget kept, columns documented.
mod budget;
mod columns_page;
mod common;
mod puts;
mod ranks;
mod tables;
mod throttle;

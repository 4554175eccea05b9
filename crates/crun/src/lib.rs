//! For a program in C that steps a run: `backwater::SteppedRun` behind plain functions.
//!
//! `include/backwater_run.h` is generated from this crate (`tests/header.rs` keeps it in step). Times are picoseconds. A panic aborts
//! the program: no call unwinds into C.
#![allow(non_camel_case_types, reason = "the names of the C header, which is generated from these types")]
#![allow(unsafe_code, reason = "a C interface is made of pointers")]
#![allow(clippy::doc_markdown, reason = "the comments are those of the C header, which has no markup")]

use backwater::{Checkpoint, Completion, Error, Injection, Results, Run, Scenario, SteppedRun, Which};
use backwater_units::{Bytes, Time};
use core::ffi::{CStr, c_char};
use std::collections::VecDeque;
use std::path::Path;

#[path = "../../capi/src/write_text.rs"]
mod write_text;

use write_text::write_text;

/// A run that stands between two steps.
pub struct bw_run {
    stepped: SteppedRun,
    /// Flows that have ended and have not been handed out.
    ended: VecDeque<Completion>,
}

/// A flow to come.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct bw_flow {
    /// Payload, at least 1.
    pub size_bytes: u64,
    /// When its first byte is ready to be sent: now or later.
    pub start_ps: u64,
    /// The traffic entry whose transport, controller and priority it has, in the order of the scenario, from 0.
    pub traffic: u32,
    /// Its source: the number of a host, from 0.
    pub src: u32,
    /// Its destination.
    pub dst: u32,
}

/// A flow that has ended.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct bw_completion {
    /// What it carried.
    pub size_bytes: u64,
    /// When its first byte was ready to be sent.
    pub start_ps: u64,
    /// When its last packet arrived; UINT64_MAX: its queue pair has given it up.
    pub finish_ps: u64,
    /// Its number: flows of the scenario first, then those injected, in their order.
    pub flow: u32,
    /// Its traffic entry.
    pub traffic: u32,
    /// Its source.
    pub src: u32,
    /// Its destination.
    pub dst: u32,
}

/// Checks a scenario file and makes its run ready, which stands at time 0. overrides are texts such as "run.seed=3".
/// folder is where results go; NULL: nothing is written. NULL if it cannot run; then why says all that is wrong.
///
/// # Safety
/// file and overrides[0] to overrides[count - 1] are texts that end with NUL, as is folder, if it is not NULL; why is NULL or
/// points to why_size bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_begin(
    file: *const c_char,
    overrides: *const *const c_char,
    count: usize,
    folder: *const c_char,
    why: *mut c_char,
    why_size: usize,
) -> *mut bw_run {
    // SAFETY: the caller's promise.
    let begun = unsafe { begin(file, overrides, count, folder) };
    // SAFETY: the caller's promise.
    unsafe { handed_over(begun, why, why_size) }
}

/// Makes a run ready that stands where one stood that was saved in file. set are texts such as "run.until=2ms": values that
/// its state can follow. folder is where results go, those from before with them; NULL: nothing is written. NULL if it cannot go on; then
/// why says what is wrong.
///
/// # Safety
/// As of bw_run_begin; set stands for overrides.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_resume(
    file: *const c_char,
    set: *const *const c_char,
    count: usize,
    folder: *const c_char,
    why: *mut c_char,
    why_size: usize,
) -> *mut bw_run {
    // SAFETY: the caller's promise.
    let stands = unsafe { resume(file, set, count, folder) };
    // SAFETY: the caller's promise.
    unsafe { handed_over(stands, why, why_size) }
}

/// Saves the run where it stands, into file, which is replaced as a whole; it goes on as if nothing had been. false: flows that have
/// ended were not handed out by bw_run_completions, or why says what went wrong.
///
/// # Safety
/// run is of bw_run_begin or bw_run_resume; file is a text that ends with NUL; why is NULL or points to why_size bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_save(
    run: *mut bw_run,
    file: *const c_char,
    why: *mut c_char,
    why_size: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let run = unsafe { &mut *run };
    // SAFETY: the caller's promise.
    let file = unsafe { text(file, "file") }.map_err(Error::Input);
    let saved = file.and_then(|file| match run.ended.len() {
        0 => run.stepped.save(Path::new(file)),
        left => Err(Error::Input(format!(
            "error: bw_run_save: {left} flows that have ended were not handed out\n  help: call bw_run_completions until it returns less \
             than there is room for"
        ))),
    });
    // SAFETY: the caller's promise.
    unsafe { refuse(saved, why, why_size) }.is_some()
}

/// Runs to until_ps, and stands there though all flows may be done before; or to the end that the scenario says, if that comes
/// first. UINT64_MAX: until all flows are done. false: until_ps has passed, or the run is lost; why
/// says what happened.
///
/// # Safety
/// run is of bw_run_begin; why is NULL or points to why_size bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_step(
    run: *mut bw_run,
    until_ps: u64,
    why: *mut c_char,
    why_size: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let run = unsafe { &mut *run };
    // SAFETY: the caller's promise.
    unsafe { refuse(run.stepped.step(Time::from_ps(until_ps)), why, why_size) }.is_some()
}

/// As bw_run_step, but not beyond the first instant at which a flow ends: it stands a picosecond later, so that what comes of that
/// end can still be injected. It stays where it is while there are completions that were not asked for.
///
/// # Safety
/// As of bw_run_step.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_step_to_completion(
    run: *mut bw_run,
    until_ps: u64,
    why: *mut c_char,
    why_size: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let run = unsafe { &mut *run };
    if !run.ended.is_empty() {
        return true;
    }
    // SAFETY: the caller's promise.
    unsafe { refuse(run.stepped.step_to_completion(Time::from_ps(until_ps)), why, why_size) }.is_some()
}

/// How far it has come: nothing at this instant or after it has happened. What is injected starts here or later.
///
/// # Safety
/// run is of bw_run_begin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_now_ps(run: *const bw_run) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { &*run }.stepped.now().as_ps()
}

/// Whether nothing is left to do: all flows that it knows are done, or the end that the scenario says is reached. After the first of
/// these it goes on with flows that are injected.
///
/// # Safety
/// run is of bw_run_begin.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_is_over(run: *const bw_run) -> bool {
    // SAFETY: the caller's promise.
    unsafe { &*run }.stepped.is_over()
}

/// Adds flows that start now or later; first, if it is not NULL, gets the number of the first one, and the others follow. What
/// happens is what would have if they had been the last flows of the scenario from the beginning. false: one of them cannot be,
/// and none is added.
///
/// # Safety
/// run is of bw_run_begin; flows points to count of them; first is NULL or points to a number; why is NULL or points to why_size
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_inject(
    run: *mut bw_run,
    flows: *const bw_flow,
    count: usize,
    first: *mut u32,
    why: *mut c_char,
    why_size: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let run = unsafe { &mut *run };
    let flows = if count == 0 {
        &[]
    } else {
        // SAFETY: the caller's promise.
        unsafe { core::slice::from_raw_parts(flows, count) }
    };
    let flows: Vec<Injection> = flows
        .iter()
        .map(|flow| Injection {
            traffic: Some(Which::Number(flow.traffic)),
            src: Which::Number(flow.src),
            dst: Which::Number(flow.dst),
            size: Bytes::new(flow.size_bytes),
            start: Time::from_ps(flow.start_ps),
            priority: None,
        })
        .collect();
    // SAFETY: the caller's promise.
    let added = unsafe { refuse(run.stepped.inject(&flows), why, why_size) };
    if let Some(numbers) = &added
        && !first.is_null()
    {
        // SAFETY: the caller's promise.
        unsafe { first.write(numbers.start) };
    }
    added.is_some()
}

/// Flows that have ended and were not told of before, in the order in which they did, most of them at most; returns how many. If
/// that is as many as there is room for, there may be more: call again.
///
/// # Safety
/// run is of bw_run_begin; to points to room for most completions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_completions(run: *mut bw_run, to: *mut bw_completion, most: usize) -> usize {
    // SAFETY: the caller's promise.
    let run = unsafe { &mut *run };
    if run.ended.len() < most {
        // A run that is lost has no more of them; a step of it says so.
        run.ended.extend(run.stepped.completions().unwrap_or_default());
    }
    let count = run.ended.len().min(most);
    for (place, ended) in run.ended.drain(..count).enumerate() {
        let told = bw_completion {
            size_bytes: ended.size.get(),
            start_ps: ended.start.as_ps(),
            finish_ps: ended.finish.map_or(u64::MAX, Time::as_ps),
            flow: ended.flow,
            traffic: u32::from(ended.group),
            src: ended.src,
            dst: ended.dst,
        };
        // SAFETY: `place < most`.
        unsafe { to.add(place).write(told) };
    }
    count
}

/// The name of a host, cut to fit; returns its length, 0 if there is no such host.
///
/// # Safety
/// run is of bw_run_begin; name is NULL or points to name_size bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_host_name(
    run: *mut bw_run,
    host: u32,
    name: *mut c_char,
    name_size: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let run = unsafe { &mut *run };
    // SAFETY: the caller's promise.
    unsafe { write_text(run.stepped.host_name(host).unwrap_or_default(), name, name_size) }
}

/// Runs to the end, writes the results, and frees the run, whatever comes of it. false: why says what went wrong.
///
/// # Safety
/// run is of bw_run_begin, and used no more; why is NULL or points to why_size bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_finish(run: *mut bw_run, why: *mut c_char, why_size: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { last(run, SteppedRun::finish, why, why_size) }
}

/// The same where it stands: partial results, unless it is over.
///
/// # Safety
/// As of bw_run_finish.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bw_run_stop(run: *mut bw_run, why: *mut c_char, why_size: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { last(run, SteppedRun::stop, why, why_size) }
}

/// # Safety
/// As of [`bw_run_finish`].
unsafe fn last(
    run: *mut bw_run,
    end: fn(SteppedRun) -> Result<Results, Error>,
    why: *mut c_char,
    why_size: usize,
) -> bool {
    // SAFETY: the caller's promise.
    let run = unsafe { Box::from_raw(run) };
    // SAFETY: the caller's promise.
    unsafe { refuse(end(run.stepped), why, why_size) }.is_some()
}

/// # Safety
/// As of [`bw_run_begin`].
unsafe fn begin(
    file: *const c_char,
    overrides: *const *const c_char,
    count: usize,
    folder: *const c_char,
) -> Result<SteppedRun, String> {
    // SAFETY: the caller's promise.
    let (file, overrides) = unsafe { (text(file, "file")?, texts(overrides, count)?) };
    let scenario = Scenario::load(Path::new(file), &overrides).map_err(|error| error.to_string())?;
    let run = Run::new(scenario).map_err(|error| error.to_string())?;
    // SAFETY: the caller's promise.
    unsafe { into_folder(run, folder) }?.begin().map_err(|error| error.to_string())
}

/// # Safety
/// As of [`bw_run_resume`].
unsafe fn resume(
    file: *const c_char,
    set: *const *const c_char,
    count: usize,
    folder: *const c_char,
) -> Result<SteppedRun, String> {
    // SAFETY: the caller's promise.
    let (file, set) = unsafe { (text(file, "file")?, texts(set, count)?) };
    let checkpoint = Checkpoint::read(Path::new(file)).map_err(|error| error.to_string())?;
    let scenario = checkpoint.scenario(&set).map_err(|error| error.to_string())?;
    let run = Run::new(scenario).map_err(|error| error.to_string())?.from(checkpoint);
    // SAFETY: the caller's promise.
    unsafe { into_folder(run, folder) }?.begin().map_err(|error| error.to_string())
}

/// # Safety
/// `folder` is NULL or a text that ends with NUL.
unsafe fn into_folder(run: Run, folder: *const c_char) -> Result<Run, String> {
    if folder.is_null() {
        return Ok(run);
    }
    // SAFETY: the caller's promise.
    Ok(run.in_folder(unsafe { text(folder, "folder") }?))
}

/// # Safety
/// `of[0]` to `of[count - 1]` are NULL or texts that end with NUL.
unsafe fn texts(of: *const *const c_char, count: usize) -> Result<Vec<String>, String> {
    // SAFETY: the caller's promise.
    (0..count).map(|number| unsafe { text(*of.add(number), "an override") }.map(str::to_owned)).collect()
}

/// The run for C, or NULL, and the reason in `why`.
///
/// # Safety
/// `why` is NULL or points to `why_size` bytes.
unsafe fn handed_over(made: Result<SteppedRun, String>, why: *mut c_char, why_size: usize) -> *mut bw_run {
    match made {
        Ok(stepped) => Box::into_raw(Box::new(bw_run { stepped, ended: VecDeque::new() })),
        Err(message) => {
            // SAFETY: the caller's promise.
            unsafe { write_text(&message, why, why_size) };
            core::ptr::null_mut()
        }
    }
}

/// # Safety
/// `of` is NULL or a text that ends with NUL.
unsafe fn text<'a>(of: *const c_char, what: &str) -> Result<&'a str, String> {
    if of.is_null() {
        return Err(format!("error: {what} is NULL"));
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(of) }.to_str().map_err(|_| format!("error: {what} is no UTF-8"))
}

/// What was done, or `None`, and the reason in `why`.
///
/// # Safety
/// `why` is NULL or points to `why_size` bytes.
unsafe fn refuse<T>(outcome: Result<T, Error>, why: *mut c_char, why_size: usize) -> Option<T> {
    match outcome {
        Ok(done) => Some(done),
        Err(error) => {
            // SAFETY: the caller's promise.
            unsafe { write_text(&error.to_string(), why, why_size) };
            None
        }
    }
}

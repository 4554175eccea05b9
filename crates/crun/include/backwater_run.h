/* Backwater for a program in C that steps a run: co-simulation, learning.
 *
 * Generated from crates/crun; do not edit (BLESS=1 cargo test -p backwater-crun header).
 * Link libbackwater_run.a with -lpthread -ldl -lm, or libbackwater_run.so. Times are picoseconds. A run is used by one thread
 * at a time. What fails says why, in a sentence or more, in a buffer of the caller. */

#ifndef BACKWATER_RUN_H
#define BACKWATER_RUN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 A run that stands between two steps.
 */
struct bw_run;

/*
 A flow to come.
 */
struct bw_flow {
  /*
   Payload, at least 1.
   */
  uint64_t size_bytes;
  /*
   When its first byte is ready to be sent: now or later.
   */
  uint64_t start_ps;
  /*
   The traffic entry whose transport, controller and priority it has, in the order of the scenario, from 0.
   */
  uint32_t traffic;
  /*
   Its source: the number of a host, from 0.
   */
  uint32_t src;
  /*
   Its destination.
   */
  uint32_t dst;
};

/*
 A flow that has ended.
 */
struct bw_completion {
  /*
   What it carried.
   */
  uint64_t size_bytes;
  /*
   When its first byte was ready to be sent.
   */
  uint64_t start_ps;
  /*
   When its last packet arrived; UINT64_MAX: its queue pair has given it up.
   */
  uint64_t finish_ps;
  /*
   Its number: flows of the scenario first, then those injected, in their order.
   */
  uint32_t flow;
  /*
   Its traffic entry.
   */
  uint32_t traffic;
  /*
   Its source.
   */
  uint32_t src;
  /*
   Its destination.
   */
  uint32_t dst;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Checks a scenario file and makes its run ready, which stands at time 0. overrides are texts such as "run.seed=3".
 folder is where results go; NULL: nothing is written. NULL if it cannot run; then why says all that is wrong.

 # Safety
 file and overrides[0] to overrides[count - 1] are texts that end with NUL, as is folder, if it is not NULL; why is NULL or
 points to why_size bytes.
 */
struct bw_run *bw_run_begin(const char *file,
                            const char *const *overrides,
                            size_t count,
                            const char *folder,
                            char *why,
                            size_t why_size);

/*
 Makes a run ready that stands where one stood that was saved in file. set are texts such as "run.until=2ms": values that
 its state can follow. folder is where results go, those from before with them; NULL: nothing is written. NULL if it cannot go on; then
 why says what is wrong.

 # Safety
 As of bw_run_begin; set stands for overrides.
 */
struct bw_run *bw_run_resume(const char *file,
                             const char *const *set,
                             size_t count,
                             const char *folder,
                             char *why,
                             size_t why_size);

/*
 Saves the run where it stands, into file, which is replaced as a whole; it goes on as if nothing had been. false: flows that have
 ended were not handed out by bw_run_completions, or why says what went wrong.

 # Safety
 run is of bw_run_begin or bw_run_resume; file is a text that ends with NUL; why is NULL or points to why_size bytes.
 */
bool bw_run_save(struct bw_run *run,
                 const char *file,
                 char *why,
                 size_t why_size);

/*
 Runs to until_ps, and stands there though all flows may be done before; or to the end that the scenario says, if that comes
 first. UINT64_MAX: until all flows are done. false: until_ps has passed, or the run is lost; why
 says what happened.

 # Safety
 run is of bw_run_begin; why is NULL or points to why_size bytes.
 */
bool bw_run_step(struct bw_run *run,
                 uint64_t until_ps,
                 char *why,
                 size_t why_size);

/*
 As bw_run_step, but not beyond the first instant at which a flow ends: it stands a picosecond later, so that what comes of that
 end can still be injected. It stays where it is while there are completions that were not asked for.

 # Safety
 As of bw_run_step.
 */
bool bw_run_step_to_completion(struct bw_run *run,
                               uint64_t until_ps,
                               char *why,
                               size_t why_size);

/*
 How far it has come: nothing at this instant or after it has happened. What is injected starts here or later.

 # Safety
 run is of bw_run_begin.
 */
uint64_t bw_run_now_ps(const struct bw_run *run);

/*
 Whether nothing is left to do: all flows that it knows are done, or the end that the scenario says is reached. After the first of
 these it goes on with flows that are injected.

 # Safety
 run is of bw_run_begin.
 */
bool bw_run_is_over(const struct bw_run *run);

/*
 Adds flows that start now or later; first, if it is not NULL, gets the number of the first one, and the others follow. What
 happens is what would have if they had been the last flows of the scenario from the beginning. false: one of them cannot be,
 and none is added.

 # Safety
 run is of bw_run_begin; flows points to count of them; first is NULL or points to a number; why is NULL or points to why_size
 bytes.
 */
bool bw_run_inject(struct bw_run *run,
                   const struct bw_flow *flows,
                   size_t count,
                   uint32_t *first,
                   char *why,
                   size_t why_size);

/*
 Flows that have ended and were not told of before, in the order in which they did, most of them at most; returns how many. If
 that is as many as there is room for, there may be more: call again.

 # Safety
 run is of bw_run_begin; to points to room for most completions.
 */
size_t bw_run_completions(struct bw_run *run,
                          struct bw_completion *to,
                          size_t most);

/*
 The name of a host, cut to fit; returns its length, 0 if there is no such host.

 # Safety
 run is of bw_run_begin; name is NULL or points to name_size bytes.
 */
size_t bw_run_host_name(struct bw_run *run, uint32_t host, char *name, size_t name_size);

/*
 Runs to the end, writes the results, and frees the run, whatever comes of it. false: why says what went wrong.

 # Safety
 run is of bw_run_begin, and used no more; why is NULL or points to why_size bytes.
 */
bool bw_run_finish(struct bw_run *run, char *why, size_t why_size);

/*
 The same where it stands: partial results, unless it is over.

 # Safety
 As of bw_run_finish.
 */
bool bw_run_stop(struct bw_run *run, char *why, size_t why_size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BACKWATER_RUN_H */

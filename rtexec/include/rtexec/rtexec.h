/* rtexec for C11, C++17 and Python's ctypes: an executive for periodic tasks. The executive admits the tasks only if it
 * can promise their deadlines. It runs the tasks, and reports on the run.
 *
 *   rtexec_error error;
 *   rtexec_task_set* set = rtexec_load("tasks.toml", &error);
 *   rtexec_executive* executive = set ? rtexec_create(set, NULL, &error) : NULL;
 *   if (executive == NULL || rtexec_start(executive, &error) != RTEXEC_OK) fprintf(stderr, "%s\n", error.what);
 *   else { rtexec_wait(executive, -1); puts(rtexec_stop(executive, &error)); }
 *   rtexec_executive_free(executive);
 *   rtexec_task_set_free(set);
 *
 * Ownership: the caller owns every object that a function returns without const, and frees it by the function whose
 * name ends in _free; freeing null has no effect. const text is valid as long as its handle, or until the same function
 * is called again on that handle. Errors: a function returns null or a code, and fills in the error (`error` may be
 * null). No exception leaves a function. If a handle or text is null, functions fail with BAD_INPUT; functions without
 * an error parameter then have no effect, and return false or null. Threading: all calls on one handle must come from
 * one thread, unless the comment of a function says otherwise. Times are int64_t nanoseconds, sizes are bytes.
 *
 * Structs begin with `size`, which the caller must set to sizeof the struct. Later versions add members at the end, so
 * that programs compiled against this header continue to work. All elements of an array have the same `size`.
 */
#pragma once

#include <rtexec/error.h>
#include <rtexec/export.hpp>
#include <rtexec/version.hpp>
#include <rtexec/workload.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Task sets ---- */

typedef struct rtexec_task_set rtexec_task_set;

/* rtexec_load() reads a task set from a TOML file, rtexec_parse() from the text `toml`. In rtexec_parse(), `file` is
 * the name in messages, and its folder resolves relative paths. If the set is invalid, the error is BAD_INPUT and
 * lists all problems of the file. */
RTEXEC_API rtexec_task_set* rtexec_load(const char* file, rtexec_error* error);
RTEXEC_API rtexec_task_set* rtexec_parse(const char* toml, const char* file, rtexec_error* error);
RTEXEC_API void rtexec_task_set_free(rtexec_task_set* set);

/* ---- Custom workloads ---- */

/* A custom workload for the task with this name, for any value of the task's key `workload`. The key's value "custom"
 * means that a program provides the workload. If `create` cannot make the workload, it returns null and fills in
 * `error`, which is never null. rtexec_plan_of() and rtexec_create() call `create` once, rtexec_profile() calls it
 * several times. */
typedef struct rtexec_own_workload {
  size_t size;
  const char* task;
  const rtexec_workload* (*create)(void* context, rtexec_error* error);
  void* context;
} rtexec_own_workload;

/* ---- Inputs from the program, and results for it ---- */

typedef struct rtexec_input_job {
  size_t size;
  const char* task;
  uint64_t job;
  int64_t release_ns; /* nominal */
  /* The instant on CLOCK_MONOTONIC at which a sensor sampled the input values. Set by the callback. The initial value
   * is the oldest sampling instant of the other sources' values, or the present instant if there is none. */
  int64_t sampled_ns;
  /* All inputs of the task. The callback writes the data of the inputs whose source is the program. Inputs with
   * another source are already filled. */
  const rtexec_tensor* inputs;
  size_t input_count;
} rtexec_input_job;

typedef struct rtexec_output_job {
  size_t size;
  const char* task;
  uint64_t job;
  int64_t release_ns; /* nominal */
  int64_t sampled_ns; /* the value of rtexec_input_job's sampled_ns after on_input */
  const rtexec_tensor* outputs;
  size_t output_count;
  const rtexec_box* detections; /* a detector's boxes, best first */
  size_t detection_count;
} rtexec_output_job;

/* on_input runs in the first CPU part of each job, on_output in the last CPU part, on the real-time threads of the
 * task with this name. Their time is part of the job's execution and of measured WCETs. Callbacks must not allocate,
 * take a lock, or make a system call that can block. No callback is called concurrently with itself. Tensors are the
 * workload's own buffers, at constant addresses during the run. All arguments are valid only during the call. The
 * warm-up before the first release calls both callbacks once for job 0, which runs again later. */
typedef struct rtexec_task_callbacks {
  size_t size;
  const char* task;
  /* Null: only the sources of the task set fill inputs. STALE means that there is no new value; the key `on_stale` of
   * the task's first input from "program" then decides what happens. If the task has no such input, the job is
   * executed. Any other error fails the job; in the warm-up it fails the start. */
  rtexec_code (*on_input)(void* context, rtexec_input_job* job);
  void (*on_output)(void* context, const rtexec_output_job* job); /* null: not called */
  void* context;
} rtexec_task_callbacks;

/* ---- Notifications ---- */

/* A job that ended late, was aborted or failed. */
typedef struct rtexec_miss {
  size_t size;
  const char* task;
  uint64_t job;
  int64_t response_ns; /* from its nominal release to its end */
  int64_t deadline_ns;
} rtexec_miss;

typedef enum rtexec_part { RTEXEC_BEFORE = 0, RTEXEC_DEVICE = 1, RTEXEC_AFTER = 2 } rtexec_part;

/* A part of a job that exceeded its WCET. Promises hold only as long as no part exceeds its WCET. */
typedef struct rtexec_wcet_excess {
  size_t size;
  const char* task;
  uint64_t job;
  rtexec_part part;
  int64_t took_ns;
  int64_t wcet_ns;
} rtexec_wcet_excess;

/* Options of a plan or an executive. All members except `size` may be zero, which means the defaults. */
typedef struct rtexec_setup {
  size_t size;
  bool force; /* true to run although the plan is not proved */
  const rtexec_own_workload* workloads;
  size_t workload_count;
  /* Called for each miss, on a thread without real-time priority; null: not called. */
  void (*on_miss)(void* context, const rtexec_miss* miss);
  void* context; /* argument of on_miss and on_wcet_exceeded */
  /* Called for each part that exceeds its WCET, on the thread that calls on_miss; null: not called. */
  void (*on_wcet_exceeded)(void* context, const rtexec_wcet_excess* excess);
  const rtexec_task_callbacks* callbacks; /* at most one for each task */
  size_t callback_count;
} rtexec_setup;

/* ---- Plans ---- */

typedef struct rtexec_plan rtexec_plan;

/* Loads the workloads and makes the plan; runs no job. A null `setup` is equivalent to a setup of zeros. Errors:
 * BAD_INPUT, UNSUPPORTED, REFUSED. */
RTEXEC_API rtexec_plan* rtexec_plan_of(const rtexec_task_set* set, const rtexec_setup* setup, rtexec_error* error);
RTEXEC_API bool rtexec_plan_proved(const rtexec_plan* plan);
/* Returns the plan as the JSON that `rtexec check --json` writes. */
RTEXEC_API const char* rtexec_plan_json(const rtexec_plan* plan);
RTEXEC_API void rtexec_plan_free(rtexec_plan* plan);

/* Measures the execution times of every task by running the set on this machine, as `rtexec profile` does. Writes the
 * times to the profile file that the task set names; later plans read this file. `jobs` is the number of jobs of each
 * task. 0: measuring ends when the WCETs derived from the first half of the jobs hold for the second half. A WCET is
 * at least `margin` times the longest execution. */
RTEXEC_API rtexec_code rtexec_profile(const rtexec_task_set* set, const rtexec_setup* setup, uint64_t jobs,
                                      double margin, rtexec_error* error);

/* ---- Running ---- */

typedef struct rtexec_executive rtexec_executive;

/* Loads the workloads, opens the device and makes the plan. Afterwards the caller may free the set, and everything
 * that `setup` points to except the contexts. Returns the errors of rtexec_plan_of(). */
RTEXEC_API rtexec_executive* rtexec_create(const rtexec_task_set* set, const rtexec_setup* setup, rtexec_error* error);
/* Returns the executive's plan. The plan is valid as long as the executive, and the caller must not free it. */
RTEXEC_API const rtexec_plan* rtexec_executive_plan(const rtexec_executive* executive);
/* Locks memory, starts the threads, warms up and releases the first jobs. Returns NOT_PROVED if the plan is not
 * proved and `force` is not set. Returns REFUSED if the machine cannot fulfil a requirement of the set and the set
 * does not allow_degraded. Returns DEVICE_FAULT if a workload failed its warm-up. After an error the executive can
 * only be freed. */
RTEXEC_API rtexec_code rtexec_start(rtexec_executive* executive, rtexec_error* error);
/* Waits until the run is over, but at most `at_most_ns` (negative: without a limit). Returns true if the run is over
 * or was never started, or if `executive` is null. */
RTEXEC_API bool rtexec_wait(rtexec_executive* executive, int64_t at_most_ns);
/* Requests a job of a task with trigger = "call". The job is released now, or one period after the task's previous
 * release if that is later. May be called from any thread. Returns false if there is no such task. */
RTEXEC_API bool rtexec_trigger(rtexec_executive* executive, const char* task);
/* Requests the end of the run. May be called from any thread, and from signal handlers. */
RTEXEC_API void rtexec_request_stop(rtexec_executive* executive);
/* Returns the report so far, without percentiles, as JSON. */
RTEXEC_API const char* rtexec_progress(rtexec_executive* executive, rtexec_error* error);
/* Ends the run and returns the report in the form of `rtexec run --json`. Takes at most as long as the longest job.
 * Later calls return the same report. */
RTEXEC_API const char* rtexec_stop(rtexec_executive* executive, rtexec_error* error);
/* May be called after rtexec_stop(). rtexec_deadlines_kept() returns true if all real-time tasks met their deadlines.
 * rtexec_bounds_kept() returns true if no response time exceeded its promised bound. */
RTEXEC_API bool rtexec_deadlines_kept(const rtexec_executive* executive);
RTEXEC_API bool rtexec_bounds_kept(const rtexec_executive* executive);
/* Stops the run and frees the executive. */
RTEXEC_API void rtexec_executive_free(rtexec_executive* executive);

/* ---- Bandwidth locks ---- */

/* Bandwidth locks let a process report to an executive on the same machine that the process needs memory bandwidth, or
 * that it uses the GPU. The executive must regulate memory bandwidth. While any process holds a lock, the executive
 * limits best-effort cores. One object for each process is enough. */
typedef struct rtexec_bandwidth_locks rtexec_bandwidth_locks;

RTEXEC_API rtexec_bandwidth_locks* rtexec_bandwidth_locks_open(rtexec_error* error);
/* These four functions may be called from any thread, and calls may be nested. A call takes a few nanoseconds and
   makes no system call. */
RTEXEC_API void rtexec_bandwidth_lock(rtexec_bandwidth_locks* locks);
RTEXEC_API void rtexec_bandwidth_unlock(rtexec_bandwidth_locks* locks);
RTEXEC_API void rtexec_gpu_busy(rtexec_bandwidth_locks* locks);
RTEXEC_API void rtexec_gpu_not_busy(rtexec_bandwidth_locks* locks);
/* Releases all locks of this object. */
RTEXEC_API void rtexec_bandwidth_locks_free(rtexec_bandwidth_locks* locks);

#ifdef __cplusplus
}
#endif

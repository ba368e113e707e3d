/* rtexec for C11, C++17 and Python's ctypes: periodic tasks with promised deadlines, admitted, run and reported on.
 *
 *   rtexec_error error;
 *   rtexec_task_set* set = rtexec_load("tasks.toml", &error);
 *   rtexec_executive* executive = set ? rtexec_create(set, NULL, &error) : NULL;
 *   if (executive == NULL || rtexec_start(executive, &error) != RTEXEC_OK) fprintf(stderr, "%s\n", error.what);
 *   else { rtexec_wait(executive, -1); puts(rtexec_stop(executive, &error)); }
 *   rtexec_executive_free(executive);
 *   rtexec_task_set_free(set);
 *
 * Ownership: what a function without const returns is the caller's, who ends it by the function whose name ends in
 * _free (null is nothing); const text lives as long as the handle that it was asked of, or until the same question is
 * asked again. Errors: null or a code, and the error (`error` may be null); no exception leaves a function. A null
 * handle or text is BAD_INPUT; functions without an error do nothing then, and return false or null. Threading: the
 * calls of one handle come from one thread, save where a function says otherwise. Times are int64_t nanoseconds, sizes
 * bytes.
 *
 * Structs begin with `size`, set by who fills them in (sizeof): later versions add members at their ends, so that
 * programs compiled against this header go on to work. All of one array have the same `size`.
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

/* ---- What is asked ---- */

typedef struct rtexec_task_set rtexec_task_set;

/* A TOML file, or its text; `file` then names it in messages, and paths are resolved from its folder. BAD_INPUT: with
 * every error of the file. */
RTEXEC_API rtexec_task_set* rtexec_load(const char* file, rtexec_error* error);
RTEXEC_API rtexec_task_set* rtexec_parse(const char* toml, const char* file, rtexec_error* error);
RTEXEC_API void rtexec_task_set_free(rtexec_task_set* set);

/* ---- Workloads of the program's own ---- */

/* For the task of this name, whatever its `workload` says; in a file, "custom" says that a program gives it. `create`
 * returns null and fills in `error`, which is not null, where it cannot make one. It is called once by rtexec_plan()
 * and rtexec_create(), and several times by rtexec_profile(). */
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
  /* When what is put in was so, on CLOCK_MONOTONIC: the instant at which a sensor looked. As it is given, that of the
   * oldest of the other sources' values, or else now. */
  int64_t sampled_ns;
  /* All inputs of the task, whose data are to be written; those that have another source are filled already. */
  const rtexec_tensor* inputs;
  size_t input_count;
} rtexec_input_job;

typedef struct rtexec_output_job {
  size_t size;
  const char* task;
  uint64_t job;
  int64_t release_ns; /* nominal */
  int64_t sampled_ns; /* as on_input left it */
  const rtexec_tensor* outputs;
  size_t output_count;
  const rtexec_box* detections; /* of a detector, best first */
  size_t detection_count;
} rtexec_output_job;

/* on_input runs in the first CPU part of each job, on_output in the last one, on the real-time threads of the task of
 * this name: what they take is part of the job's execution and of measured WCETs. They must not allocate, take a lock,
 * or make a system call that can block; neither is called twice at once. Tensors are the workload's own buffers, where
 * they are for the whole run; all that a call is given ends with it. Both are called once for job 0 before the first
 * release, for warming up; job 0 then runs again. */
typedef struct rtexec_task_callbacks {
  size_t size;
  const char* task;
  /* Null: inputs are filled as the task set says. STALE: nothing is there that is new, and `on_stale` of the task's
   * first input from "program" answers (where there is none, the job is executed all the same). Another error fails the
   * job, and before the first release the start. */
  rtexec_code (*on_input)(void* context, rtexec_input_job* job);
  void (*on_output)(void* context, const rtexec_output_job* job); /* null: not called */
  void* context;
} rtexec_task_callbacks;

/* ---- What a program is told ---- */

/* A job that ended late, was abandoned or failed. */
typedef struct rtexec_miss {
  size_t size;
  const char* task;
  uint64_t job;
  int64_t response_ns; /* from its nominal release to its end */
  int64_t deadline_ns;
} rtexec_miss;

typedef enum rtexec_part { RTEXEC_BEFORE = 0, RTEXEC_DEVICE = 1, RTEXEC_AFTER = 2 } rtexec_part;

/* A part of a job that took longer than its WCET, on which every promise rests. */
typedef struct rtexec_wcet_excess {
  size_t size;
  const char* task;
  uint64_t job;
  rtexec_part part;
  int64_t took_ns;
  int64_t wcet_ns;
} rtexec_wcet_excess;

/* All zero but for `size`: nothing special is wanted. */
typedef struct rtexec_setup {
  size_t size;
  bool force; /* run although the plan is not proved */
  const rtexec_own_workload* workloads;
  size_t workload_count;
  /* Called on a thread without real-time priority; null: nobody is told. */
  void (*on_miss)(void* context, const rtexec_miss* miss);
  void* context; /* of on_miss and on_wcet_exceeded */
  /* The same for parts above their WCETs. */
  void (*on_wcet_exceeded)(void* context, const rtexec_wcet_excess* excess);
  const rtexec_task_callbacks* callbacks; /* at most one of each task */
  size_t callback_count;
} rtexec_setup;

/* ---- What can be promised ---- */

typedef struct rtexec_plan rtexec_plan;

/* Loads the workloads and plans; runs nothing. A null setup is one of zeros. BAD_INPUT, UNSUPPORTED, REFUSED. */
RTEXEC_API rtexec_plan* rtexec_plan_of(const rtexec_task_set* set, const rtexec_setup* setup, rtexec_error* error);
RTEXEC_API bool rtexec_plan_proved(const rtexec_plan* plan);
/* What `rtexec check --json` writes. */
RTEXEC_API const char* rtexec_plan_json(const rtexec_plan* plan);
RTEXEC_API void rtexec_plan_free(rtexec_plan* plan);

/* Measures the execution times of every task by running the set on this machine, as `rtexec profile` does, and writes
 * them to the file that the task set names: later plans read them from there. `jobs` of each task; 0: until the WCETs
 * of one half of them hold for the other. A WCET is what was longest times `margin`, at least. */
RTEXEC_API rtexec_code rtexec_profile(const rtexec_task_set* set, const rtexec_setup* setup, uint64_t jobs,
                                      double margin, rtexec_error* error);

/* ---- What runs ---- */

typedef struct rtexec_executive rtexec_executive;

/* Loads the workloads, opens the device and plans. The set may be freed afterwards; what `setup` points to may end,
 * save the contexts. Errors as of rtexec_plan_of(). */
RTEXEC_API rtexec_executive* rtexec_create(const rtexec_task_set* set, const rtexec_setup* setup, rtexec_error* error);
/* Lives as long as the executive, and is not freed by the caller. */
RTEXEC_API const rtexec_plan* rtexec_executive_plan(const rtexec_executive* executive);
/* Locks memory, starts the threads, warms up and releases the first jobs. NOT_PROVED: without `force`; REFUSED: the
 * machine does not give what the set needs, and it does not allow_degraded; DEVICE_FAULT: a workload failed its
 * warm-up. After an error the executive is of no further use. */
RTEXEC_API rtexec_code rtexec_start(rtexec_executive* executive, rtexec_error* error);
/* Until the run is over, or for `at_most_ns` (negative: for ever). True when it is over, never began, or `executive` is
 * null. */
RTEXEC_API bool rtexec_wait(rtexec_executive* executive, int64_t at_most_ns);
/* Asks for a job of a task with trigger = "call": at once, or a period after the job before. From any thread. False:
 * there is no such task. */
RTEXEC_API bool rtexec_trigger(rtexec_executive* executive, const char* task);
/* From any thread, and from signal handlers. */
RTEXEC_API void rtexec_request_stop(rtexec_executive* executive);
/* Counters so far, as JSON. */
RTEXEC_API const char* rtexec_progress(rtexec_executive* executive, rtexec_error* error);
/* Ends the run within the longest job, and reports what `rtexec run --json` writes. Asked again, the same. */
RTEXEC_API const char* rtexec_stop(rtexec_executive* executive, rtexec_error* error);
/* After rtexec_stop(): of the real-time tasks; and whether no response time was above what the plan promised. */
RTEXEC_API bool rtexec_deadlines_kept(const rtexec_executive* executive);
RTEXEC_API bool rtexec_bounds_kept(const rtexec_executive* executive);
/* Stops it. */
RTEXEC_API void rtexec_executive_free(rtexec_executive* executive);

/* ---- Bandwidth locks ---- */

/* Tells a regulating executive, from any process of the machine, that memory bandwidth is needed or that the GPU is
 * used: while anyone does, best-effort cores are limited. One for each process is enough. */
typedef struct rtexec_bandwidth_locks rtexec_bandwidth_locks;

RTEXEC_API rtexec_bandwidth_locks* rtexec_bandwidth_locks_open(rtexec_error* error);
/* From any thread, nested calls count; a few nanoseconds, no system call. */
RTEXEC_API void rtexec_bandwidth_lock(rtexec_bandwidth_locks* locks);
RTEXEC_API void rtexec_bandwidth_unlock(rtexec_bandwidth_locks* locks);
RTEXEC_API void rtexec_gpu_busy(rtexec_bandwidth_locks* locks);
RTEXEC_API void rtexec_gpu_not_busy(rtexec_bandwidth_locks* locks);
/* Gives back what is held. */
RTEXEC_API void rtexec_bandwidth_locks_free(rtexec_bandwidth_locks* locks);

#ifdef __cplusplus
}
#endif

/* A workload of one's own in C: what a task runs in each job. C11 and C++17; in C++20 see <rtexec/workload.hpp>.
 *
 * Given to an executive in code (rtexec.h), or made by a shared object that a task set names:
 *
 *   [[task]]
 *   name = "control"
 *   workload = "lib:libcontrol.so"   # beside the TOML file; exports rtexec_workload_create()
 *   arguments = "gain=0.5"
 *
 * The shared object needs this header and no library. A workload owns no device memory: it says what it needs, and is
 * given addresses. Set-up may allocate; the three parts of a job may not.
 *
 * Structs begin with `size`, set by who fills them in (sizeof): later versions add members at their ends, so that
 * objects and programs compiled against this header go on to work.
 */
#pragma once

#include <rtexec/error.h>
#include <rtexec/export.hpp>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of device memory, by what a swap does to their contents. */
typedef struct rtexec_memory_demand {
  uint64_t constant; /* never written by the device: dropped, and loaded again */
  uint64_t scratch;  /* lost between jobs: all tasks share the same memory */
  uint64_t state;    /* copied out and back; zero before the first job */
} rtexec_memory_demand;

/* Addresses of the memory that was asked for, valid on the device for as long as the workload lives. */
typedef struct rtexec_memory {
  size_t size;
  const void* constant; /* mapped read-only */
  void* scratch;
  void* state;
  void* carry;
} rtexec_memory;

/* What a workload sees of its device, valid until destroy(). */
typedef struct rtexec_device {
  size_t size;
  const char* name; /* as the device names itself: "host", "NVIDIA H200" */
  /* The compute engine's CUstream, of the device's primary context, which is current in bind() and execute(); null: the
   * host device, whose addresses are ordinary memory. */
  void* stream;
  void* self; /* handed to wait() */
  /* Only in execute(): until all work in the stream is done, as the task set's `completion` says. */
  rtexec_code (*wait)(void* self);
} rtexec_device;

typedef enum rtexec_element_type {
  RTEXEC_UINT8 = 0,
  RTEXEC_INT32 = 1,
  RTEXEC_INT64 = 2,
  RTEXEC_FLOAT16 = 3,
  RTEXEC_FLOAT32 = 4,
  RTEXEC_INT8 = 5,
  RTEXEC_BOOLEAN = 6, /* a byte, 0 or 1 */
  RTEXEC_UINT16 = 7,
  RTEXEC_INT16 = 8,
  RTEXEC_UINT32 = 9,
  RTEXEC_UINT64 = 10,
  RTEXEC_FLOAT64 = 11
} rtexec_element_type;

/* An input or an output, in a buffer of the workload's own on the host: dense, row-major, aligned for its type. All of
 * one array have the same `size`. */
typedef struct rtexec_tensor {
  size_t size;
  const char* name; /* not empty */
  rtexec_element_type type;
  size_t rank;
  const int64_t* shape; /* `rank` dimensions, each at least 1; rank 0: one element */
  void* data;
  size_t bytes; /* of data: what type and shape make */
} rtexec_tensor;

typedef struct rtexec_workload {
  size_t size;
  void* self; /* handed to each function */
  rtexec_memory_demand memory;
  const void* constants; /* memory.constant bytes, copied to the device before the first job; live until destroy() */
  /* What a measured execution time depends on, never null or empty: whoever changes the code or its data changes
   * this. Of a shared object, the bytes of its file and `arguments` count besides. */
  const char* fingerprint;

  /* Set-up, once, before the first job. Null: nothing to ready. */
  rtexec_code (*bind)(void* self, const rtexec_device* device, const rtexec_memory* memory, rtexec_error* error);

  /* The parts of a job, in this order, never two at once. No allocation, no lock, no system call that can block. One
   * job, number 0, is run for warming up before the first release. Other answers than RTEXEC_OK: the job failed, which
   * counts as a miss. Null: there is no such part. Without execute() and execute_segment() a job never queues for the
   * device: its WCET there is 0, and memory must be all zero. */
  rtexec_code (*before)(void* self, uint64_t job); /* on the task's core */
  rtexec_code (*execute)(void* self);              /* on the device's compute engine; returns when its work is done */
  rtexec_code (*after)(void* self, uint64_t job);  /* on the task's core */

  /* The last call, save where the workload was refused for its size. Null: nothing to end. */
  void (*destroy)(void* self);

  /* What goes in and comes out, null where there is nothing; all of it lives, where it is, until destroy(). Inputs hold
   * what job `job` is to compute on when before(job) is called, and until execute() has returned. Outputs are read once
   * after() has returned, until before() of the next job. */
  const rtexec_tensor* inputs;
  size_t input_count;
  const rtexec_tensor* outputs;
  size_t output_count;

  /* In place of execute(): the device part in pieces, which are called in turn from 0. A task set may let other tasks
   * have the device, and scratch, between two of them. 0 and null: it cannot be cut. */
  size_t segments;
  rtexec_code (*execute_segment)(void* self, size_t segment);
  uint64_t carry; /* bytes of device memory that keep their contents from piece to piece, and lose them between jobs */
} rtexec_workload;

/* What a shared object exports: makes the workload of `task`, with the text of its key `arguments` (empty where there
 * is none). May be called several times, also for one task: `rtexec profile` measures in several runs. What is returned
 * lives until destroy(). Null, and `error`, which is never null here: there is none. */
RTEXEC_API const rtexec_workload* rtexec_workload_create(const char* task, const char* arguments, rtexec_error* error);

#ifdef __cplusplus
}
#endif

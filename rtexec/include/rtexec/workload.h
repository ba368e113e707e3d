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
  uint64_t state;    /* copied out and back; zero before the rehearsal (begin_to_keep) */
} rtexec_memory_demand;

/* Addresses of the memory that was asked for, aligned to 256 bytes, valid on the device for as long as the workload
 * lives. The struct itself lives during bind(). */
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
  /* Only in execute() and execute_segment(): until all work in the stream is done, as the task set's `completion` says.
   */
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

/* A detected object: edges in pixels of the network's input, into which the picture was letterboxed; right and bottom
 * are excluded. A plain value without `size`, as <rtexec/box.hpp> has it. */
typedef struct rtexec_box {
  float left, top, right, bottom;
  float score;    /* 0 to 1 */
  uint32_t label; /* class number */
} rtexec_box;

/* One of the most probable classes of a classifier. */
typedef struct rtexec_ranked_class {
  uint32_t label;
  float score; /* softmax probability */
} rtexec_ranked_class;

/* What a piece reads of the constants: bytes from `begin` to `end`, which is behind the last one. */
typedef struct rtexec_constant_range {
  uint64_t begin;
  uint64_t end;
} rtexec_constant_range;

typedef struct rtexec_workload {
  size_t size;
  void* self; /* handed to each function */
  rtexec_memory_demand memory;
  const void* constants; /* memory.constant bytes, copied to the device before the first job; live until destroy() */
  /* What a measured execution time depends on, never null or empty: whoever changes the code or its data changes
   * this. Of a shared object, the bytes of its file and `arguments` count besides. */
  const char* fingerprint;

  /* Set-up, once, before the first job. Null: nothing to ready. Where it fails, destroy() follows. `error` of this and
   * of what follows is never null. */
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

  /* In place of execute(), which is not called then: the device part in pieces, which are called in turn from 0. A plan
   * makes segments of them, of one piece or several short ones each, and may let other tasks have the device, and
   * scratch, between two segments. 0 and null: it cannot be cut. */
  size_t segments;
  rtexec_code (*execute_segment)(void* self, size_t segment);
  uint64_t carry; /* bytes of device memory that keep their contents from piece to piece, and lose them between jobs */

  /* What follows is null or 0 in objects that were compiled before it was there, and wherever there is no such thing.
   */

  /* Memory that the workload, or a library that it uses, takes by itself; what is not told here a plan does not count.
   * It is never swapped. */
  uint64_t own_device; /* what it computes in: on the host device memory of the host, as for all device memory there */
  uint64_t own_host;   /* data of inputs and outputs, the constants that are copied to the device */

  const char* const* segment_names; /* of each piece, for people; null: "segment 0" and so on */
  /* All constants that each piece reads lie in its range. Ranges may overlap, be empty, and leave bytes out. Null: the
   * constants cannot be streamed. */
  const rtexec_constant_range* constant_ranges;
  /* Hands the piece's work to the device and returns; execute_segment(), which then waits for it, is still called. The
   * piece before it has been handed over or executed. Null: a device waits for the host between two pieces. */
  rtexec_code (*launch_segment)(void* self, size_t segment);

  /* Measures on `device`, before bind(), which of its ways to compute are fastest, and uses them: `choices` says them
   * in lines of text of its own, which live until the next call. use() makes the same choices again, before bind() and
   * in every later run. Both may change memory, constants, own_device and own_host, of which nobody has asked then.
   * Both, or neither. */
  rtexec_code (*tune)(void* self, const rtexec_device* device, const char** choices, rtexec_error* error);
  rtexec_code (*use)(void* self, const char* choices, rtexec_error* error);

  /* Tensors that stay on the device on their way between two workloads. Before bind() the first two tell which;
   * `on_host`: others read the output's data as well. In each job, before before(), and once after bind(), the others
   * say where an input is found and an output is put: dense, row-major, aligned to 256 bytes. All four, or none. */
  void (*link_input)(void* self, size_t input);
  void (*link_output)(void* self, size_t output, int on_host);
  void (*take_input)(void* self, size_t input, const void* from);
  void (*give_output)(void* self, size_t output, void* to);

  /* Of the last job whose after() has returned, best first: how many there are, and where, until the next job begins.
   * On the task's core, several times for a job: what takes time belongs into after(). A workload recognises boxes, or
   * classes, or neither. */
  size_t (*boxes)(void* self, const rtexec_box** boxes);
  size_t (*classes)(void* self, const rtexec_ranked_class** classes);

  /* Once, between the rehearsal (job 0, which comes twice) and the first release, where the workload has memory.state
   * or a state of its own: forget what the rehearsal left. memory.state is zero before the rehearsal, and nobody else
   * sets it to zero again. */
  void (*begin_to_keep)(void* self);
} rtexec_workload;

/* What a shared object exports: makes the workload of `task`, with the text of its key `arguments` (empty where there
 * is none). May be called several times, also for one task: `rtexec profile` measures in several runs. What is returned
 * lives until destroy(). Null, and `error`, which is never null here: there is none. */
RTEXEC_API const rtexec_workload* rtexec_workload_create(const char* task, const char* arguments, rtexec_error* error);

#ifdef __cplusplus
}
#endif

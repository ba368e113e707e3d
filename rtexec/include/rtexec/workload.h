/* A custom workload in C: the computation that a task runs in each job. C11 and C++17. The C++20 interface is
 * <rtexec/workload.hpp>.
 *
 * Either a program passes the workload to an executive (rtexec.h), or a task set names a shared object that makes the
 * workload:
 *
 *   [[task]]
 *   name = "control"
 *   workload = "lib:libcontrol.so"   # beside the TOML file; exports rtexec_workload_create()
 *   arguments = "gain=0.5"
 *
 * The shared object needs this header and no library. A workload owns no device memory: it declares its demand, and
 * gets addresses in bind(). Set-up may allocate; the three parts of a job must not.
 *
 * Structs begin with `size`, which must be set to sizeof the struct by the code that fills the struct. Later versions
 * add members at the end, so that objects and programs compiled against this header continue to work.
 */
#pragma once

#include <rtexec/error.h>
#include <rtexec/export.hpp>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of device memory, by class. The class decides how the contents are treated when memory is swapped. */
typedef struct rtexec_memory_demand {
  uint64_t constant; /* never written by the device: evicted without a copy, and loaded again */
  uint64_t scratch;  /* contents are lost between jobs: all tasks share the same memory */
  uint64_t state;    /* contents survive: copied out when evicted, and copied back; zero before the warm-up
                      * (begin_to_keep) */
} rtexec_memory_demand;

/* Addresses of the declared memory, aligned to 256 bytes, valid on the device as long as the workload exists. The
 * struct itself is valid only during bind(). */
typedef struct rtexec_memory {
  size_t size;
  const void* constant; /* mapped read-only */
  void* scratch;
  void* state;
  void* carry;
} rtexec_memory;

/* A workload's view of its device, valid until destroy(). */
typedef struct rtexec_device {
  size_t size;
  const char* name; /* the device's own name: "host", "NVIDIA H200" */
  /* The compute engine's CUstream. It belongs to the device's primary context. This context is current in bind() and
   * tune(), and in execute(), execute_segment() and launch_segment(). In all other functions, such as before(), after()
   * and destroy(), it may not be current: code that calls the driver there must get the context by cuStreamGetCtx() and
   * set it by cuCtxSetCurrent(). (In C++, Gpu::enter() does so. CUDA's runtime library uses the primary context without
   * such a call.) Work in other streams is not part of the job, and rtexec does not wait for it. Null on the host
   * device, whose addresses are ordinary addresses. */
  void* stream;
  void* self; /* argument of wait() */
  /* Waits until all work in the stream is done. The task set's key `completion` selects whether the function sleeps or
   * spins. May be called only in execute() and execute_segment(). */
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

/* An input or an output, in a host buffer that the workload owns. The buffer is dense, row-major and aligned for its
 * type. All elements of an array have the same `size`. */
typedef struct rtexec_tensor {
  size_t size;
  const char* name; /* not empty */
  rtexec_element_type type;
  size_t rank;
  const int64_t* shape; /* `rank` dimensions, each at least 1; rank 0: one element */
  void* data;
  size_t bytes; /* bytes of data, as implied by type and shape */
} rtexec_tensor;

/* A detected object. Its edges are in pixels of the network's input, after the picture was letterboxed into the
 * input. right and bottom are exclusive. A plain value without `size`, like Box of <rtexec/box.hpp>. */
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

/* The constants that a segment reads: bytes `begin` to `end`, without byte `end`. */
typedef struct rtexec_constant_range {
  uint64_t begin;
  uint64_t end;
} rtexec_constant_range;

typedef struct rtexec_workload {
  size_t size;
  void* self; /* argument of each function */
  rtexec_memory_demand memory;
  const void* constants; /* memory.constant bytes, copied to the device before the first job; live until destroy() */
  /* A text that identifies everything that a measured execution time depends on, such as the code and its data. It
   * must not be null or empty. For a workload of a shared object, rtexec also compares the bytes of the file and
   * `arguments`. */
  const char* fingerprint;

  /* Set-up; called once, before the first job. Null: there is nothing to prepare. If bind() fails, destroy() is
   * called. The parameter `error` of this function and of all following functions is never null. */
  rtexec_code (*bind)(void* self, const rtexec_device* device, const rtexec_memory* memory, rtexec_error* error);

  /* The parts of a job. They are called in this order, and never concurrently. They must not allocate, take a lock,
   * or make a system call that can block. Job 0 runs once before the first release as a warm-up. A result other than
   * RTEXEC_OK means that the job failed, which counts as a miss. Null: the job has no such part. Without execute()
   * and execute_segment() a job never queues for the device. Its WCET on the device is then 0, and all members of
   * `memory` must be zero. */
  rtexec_code (*before)(void* self, uint64_t job); /* on the task's core */
  rtexec_code (*execute)(void* self);              /* on the thread of the device's compute engine; returns when the
                                                    * device part is done */
  rtexec_code (*after)(void* self, uint64_t job);  /* on the task's core */

  /* Frees the workload. This is the last call. If the workload was refused because of its `size`, destroy() is not
   * called. Null: no call. */
  void (*destroy)(void* self);

  /* Inputs and outputs; null if there are none. They must be valid at constant addresses until destroy(). Inputs
   * contain the data of job `job` from the call of before(job) until execute() has returned. Outputs are read after
   * after() has returned and before before() of the next job is called. */
  const rtexec_tensor* inputs;
  size_t input_count;
  const rtexec_tensor* outputs;
  size_t output_count;

  /* The number of segments of the device part, and the function that executes one segment. With segments,
   * execute_segment() is called for each segment in order from 0, and execute() is never called. A plan may merge
   * several short segments. Between two segments other tasks may use the device and the scratch memory. 0 and null:
   * the device part cannot be cut. */
  size_t segments;
  rtexec_code (*execute_segment)(void* self, size_t segment);
  uint64_t carry; /* bytes of device memory that keep their contents between the segments of a job, and lose them
                   * between jobs */

  /* The following members are null or 0 in workloads without the feature, and in objects that were compiled before
   * the members existed. */

  /* Bytes of memory that the workload, or a library that it uses, allocates itself. This memory is never swapped. A
   * plan counts it only if it is declared here. */
  uint64_t own_device; /* working memory on the device; on the host device it is host memory, like all device memory
                        * there */
  uint64_t own_host;   /* host memory: buffers of inputs and outputs, and the constants that are copied to the device */

  const char* const* segment_names; /* the name of each segment, for the user; null: "segment 0" and so on */
  /* For each segment, the range that contains all constants that the segment reads. Ranges may overlap and may be
   * empty. Some bytes may be in no range. Null: the constants cannot be streamed. */
  const rtexec_constant_range* constant_ranges;
  /* Submits the segment's work to the device without waiting. execute_segment() is called later for the same segment,
   * and then only waits for this work. At the time of this call, the previous segment has been launched or executed.
   * Null: the device waits for the host between two segments. */
  rtexec_code (*launch_segment)(void* self, size_t segment);

  /* tune() measures on `device`, before bind(), which implementations are fastest, and uses these implementations.
   * tune() stores a description of these choices in `choices`: lines of text in a format that the workload defines. The
   * text must be valid until the next call. In every later run, use() receives this text before bind(), and makes the
   * same choices. Both functions may change memory, constants, own_device and own_host, which rtexec reads only
   * afterwards. Set both functions or neither. */
  rtexec_code (*tune)(void* self, const rtexec_device* device, const char** choices, rtexec_error* error);
  rtexec_code (*use)(void* self, const char* choices, rtexec_error* error);

  /* Links: tensors that pass from one task's workload to other tasks' workloads without leaving the device. Before
   * bind(), link_input() tells the workload that an input is linked to an output of another task. link_output() tells
   * it that an output is linked to inputs of other tasks; `on_host` is not 0 if code on the host reads the output's
   * host data too. take_input() and give_output() set the device address of a linked tensor. They are called once
   * after bind(), and in each job before before(). The tensor is dense, row-major and aligned to 256 bytes. Set all
   * four functions or none. */
  void (*link_input)(void* self, size_t input);
  void (*link_output)(void* self, size_t output, int on_host);
  void (*take_input)(void* self, size_t input, const void* from);
  void (*give_output)(void* self, size_t output, void* to);

  /* Each function returns the number of results of the last job whose after() has returned, and stores their address,
   * best result first. The results must stay valid until the next job begins. The functions are called on the task's
   * core, several times for a job: expensive work belongs in after(). A workload recognises boxes, or classes, or
   * neither. */
  size_t (*boxes)(void* self, const rtexec_box** boxes);
  size_t (*classes)(void* self, const rtexec_ranked_class** classes);

  /* Discards the state that the warm-up left. Called once, between the warm-up (job 0, which runs again later) and
   * the first release. Required if the workload has memory.state or other state. memory.state is zero before the
   * warm-up, and rtexec does not clear it afterwards. */
  void (*begin_to_keep)(void* self);
} rtexec_workload;

/* Makes the workload of `task`; exported by the shared object. `arguments` is the text of the task's key `arguments`,
 * or empty. May be called several times, also for one task, because `rtexec profile` measures in several runs. The
 * result must be valid until destroy(). On failure the function returns null and fills in `error`, which is never
 * null here. */
RTEXEC_API const rtexec_workload* rtexec_workload_create(const char* task, const char* arguments, rtexec_error* error);

#ifdef __cplusplus
}
#endif

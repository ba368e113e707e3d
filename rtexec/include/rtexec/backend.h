/* An inference back end: makes workloads of model files. It is a shared object that exports rtexec_backend_get(), and
 * that a task names:
 *
 *   [[task]]
 *   name = "camera"
 *   model = "detector.onnx"
 *   backend = "onnxruntime"          # librtexec-backend-onnxruntime.so, found by the dynamic linker
 *   arguments = "threads=1"
 *
 * A task may also name a file in the folder of its TOML file: `backend = "./libmine.so"`. The built-in back end is
 * "rtexec".
 *
 * The networks of a back end are workloads (workload.h), and a plan treats them like the workloads of all other tasks.
 * So a network can have memory by class, memory of its own (own_device, own_host), tuning, links and recognised
 * objects. A network can have segments, between which other tasks may use the device. Members for features that a back
 * end lacks are null or 0. The jobs of a network without segments are not preempted on the device. The memory of a
 * network without memory.constant is never swapped.
 *
 * C11 and C++17. The shared object needs these headers and no library of rtexec. Structs begin with `size`, which must
 * be set by the code that fills the struct: later versions add members at the end.
 */
#pragma once

#include <rtexec/error.h>
#include <rtexec/export.hpp>
#include <rtexec/workload.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Increases when compiled back ends must be compiled again. */
#define RTEXEC_BACKEND_VERSION 1

/* Kinds of devices, as bits of a mask. */
typedef enum rtexec_device_kind {
  RTEXEC_DEVICE_HOST = 1, /* the cores of the machine: device memory is ordinary memory */
  RTEXEC_DEVICE_CUDA = 2
} rtexec_device_kind;

typedef enum rtexec_precision {
  RTEXEC_FP32 = 0, /* products and sums as accurate as in single precision */
  RTEXEC_TF32 = 1, /* factors rounded to 10 bits, sums in single precision */
  RTEXEC_FP16 = 2  /* factors and activations in half precision, sums in single precision */
} rtexec_precision;

/* All dimensions of one input. Passed for inputs for which the model leaves some dimensions open. All elements of
   an array have the same `size`. */
typedef struct rtexec_input_shape {
  size_t size;
  const char* input;
  size_t rank;
  const int64_t* shape; /* each at least 1 */
} rtexec_input_shape;

/* The model and settings of a task. Valid only during the call. */
typedef struct rtexec_model {
  size_t size;
  const char* task;      /* name of the task, for messages */
  const char* file;      /* an absolute path; the file existed just before the call */
  const char* arguments; /* the text of the task's TOML key `arguments`, or empty */
  rtexec_device_kind device;
  rtexec_precision precision; /* on the host always RTEXEC_FP32 */
  const rtexec_input_shape* shapes;
  size_t shape_count;
} rtexec_model;

typedef struct rtexec_backend {
  size_t size;
  uint32_t version;      /* RTEXEC_BACKEND_VERSION */
  const char* name;      /* the back end's own name, with its version: "ONNX Runtime 1.22.0" */
  uint32_t device_kinds; /* the supported rtexec_device_kind values, combined as bits */
  /* Makes the network of `model`, ready except for bind(). Called during set-up, on any thread, possibly several times
   * for one task. Several networks may exist at a time. The network's `fingerprint` must identify everything that its
   * execution times depend on. rtexec itself also compares the files of model and back end, and `arguments`. `rtexec
   * check` calls this function even on machines without the device. On failure the function returns null and writes
   * the reason into `error`, which is never null. */
  const rtexec_workload* (*open)(const rtexec_model* model, rtexec_error* error);
} rtexec_backend;

/* Returns the back end, or null if the back end cannot be used at all. The shared object exports this function, and
 * stays loaded until the process ends. */
RTEXEC_API const rtexec_backend* rtexec_backend_get(void);

#ifdef __cplusplus
}
#endif

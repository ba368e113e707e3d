/* An inference back end: what makes workloads of model files. A shared object that exports rtexec_backend_get(), and
 * that a task names:
 *
 *   [[task]]
 *   name = "camera"
 *   model = "detector.onnx"
 *   backend = "onnxruntime"          # librtexec-backend-onnxruntime.so, where the dynamic linker looks for libraries
 *   arguments = "threads=1"
 *
 * or `backend = "./libmine.so"`, a file beside the TOML file. The built-in one is "rtexec".
 *
 * Its networks are workloads (workload.h), so all that a plan knows of a task holds for them: memory by class, memory
 * of their own (own_device, own_host), pieces between which other tasks may have the device, tuning, links, what they
 * recognise. What a back end cannot do it leaves null: without pieces its jobs are not preempted on the device, without
 * memory.constant nothing of them is swapped.
 *
 * C11 and C++17. The shared object needs these headers and no library of rtexec. Structs begin with `size`, set by who
 * fills them in: later versions add members at their ends.
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

/* Changes when back ends that were compiled before cannot be used any more. */
#define RTEXEC_BACKEND_VERSION 1

/* Kinds of devices, which can be added. */
typedef enum rtexec_device_kind {
  RTEXEC_DEVICE_HOST = 1, /* the cores of the machine: device memory is ordinary memory */
  RTEXEC_DEVICE_CUDA = 2
} rtexec_device_kind;

typedef enum rtexec_precision {
  RTEXEC_FP32 = 0, /* products and sums as accurate as in single precision */
  RTEXEC_TF32 = 1, /* factors rounded to 10 bits, sums in single precision */
  RTEXEC_FP16 = 2  /* factors and activations in half precision, sums in single precision */
} rtexec_precision;

/* All dimensions of an input of which the model leaves some open. All of one array have the same `size`. */
typedef struct rtexec_input_shape {
  size_t size;
  const char* input;
  size_t rank;
  const int64_t* shape; /* each at least 1 */
} rtexec_input_shape;

/* What a task asks for. Lives during the call. */
typedef struct rtexec_model {
  size_t size;
  const char* task;      /* its name, for messages */
  const char* file;      /* an absolute path; it was there a moment ago */
  const char* arguments; /* the text of the task's key, empty where there is none */
  rtexec_device_kind device;
  rtexec_precision precision; /* on the host always RTEXEC_FP32 */
  const rtexec_input_shape* shapes;
  size_t shape_count;
} rtexec_model;

typedef struct rtexec_backend {
  size_t size;
  uint32_t version;      /* RTEXEC_BACKEND_VERSION */
  const char* name;      /* as it calls itself, with its version: "ONNX Runtime 1.22.0" */
  uint32_t device_kinds; /* rtexec_device_kind that it computes on, added */
  /* The network of `model`, ready but for bind(). Set-up, on any thread; it is called several times, for one task too,
   * and more than one network may live at a time. Its `fingerprint` has to change with all that execution times depend
   * on, but for the files of model and back end, and `arguments`, which count besides. No device need be there: `rtexec
   * check` asks too, on other machines. Null, and `error`, which is never null here: it cannot be used, and why. */
  const rtexec_workload* (*open)(const rtexec_model* model, rtexec_error* error);
} rtexec_backend;

/* What the shared object exports; it stays loaded until the process ends. Null: it cannot be used at all. */
RTEXEC_API const rtexec_backend* rtexec_backend_get(void);

#ifdef __cplusplus
}
#endif

/* The layout in shared memory of a message: one tensor for a task's input, or from a task's output. A message begins
 * with the struct below. The tensor's elements begin RTEXEC_MESSAGE_HEADER bytes after the beginning of the message.
 * They are in row-major order and aligned to 64 bytes. All values are little-endian. C11 and C++17. Programs in other
 * languages use the byte offsets in the comments below.
 *
 *   const rtexec_message* message = ...;                         // of a subscriber
 *   if (message->magic == RTEXEC_MESSAGE_MAGIC && message->version == RTEXEC_MESSAGE_VERSION)
 *     use((const char*)message + RTEXEC_MESSAGE_HEADER, message->bytes);
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RTEXEC_MESSAGE_MAGIC 0x4d585452u /* "RTXM" */

enum {
  RTEXEC_MESSAGE_VERSION = 1,
  RTEXEC_MESSAGE_HEADER = 128, /* offset of the elements */
  RTEXEC_MESSAGE_RANK = 8      /* maximum number of dimensions */
};

typedef enum rtexec_element {
  RTEXEC_ELEMENT_UINT8 = 1,
  RTEXEC_ELEMENT_INT8 = 2,
  RTEXEC_ELEMENT_UINT16 = 3,
  RTEXEC_ELEMENT_INT16 = 4,
  RTEXEC_ELEMENT_INT32 = 5,
  RTEXEC_ELEMENT_INT64 = 6,
  RTEXEC_ELEMENT_FLOAT16 = 7,
  RTEXEC_ELEMENT_FLOAT32 = 8,
  RTEXEC_ELEMENT_FLOAT64 = 9,
  RTEXEC_ELEMENT_BOOLEAN = 10, /* a byte, 0 or 1 */
  RTEXEC_ELEMENT_UINT32 = 11,
  RTEXEC_ELEMENT_UINT64 = 12
} rtexec_element;

/* Instants are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share; 0: unknown. */
typedef struct rtexec_message {
  uint32_t magic;                      /*  0: RTEXEC_MESSAGE_MAGIC */
  uint16_t version;                    /*  4: RTEXEC_MESSAGE_VERSION */
  uint8_t element;                     /*  6: an rtexec_element */
  uint8_t rank;                        /*  7: number of valid dimensions in `shape`; 0: a single element */
  uint64_t bytes;                      /*  8: the size of all elements */
  int64_t sampled_ns;                  /* 16: when the data were sampled: a picture was taken, or a sensor read */
  int64_t released_ns;                 /* 24: the nominal release of the job that made the message */
  uint64_t job;                        /* 32: the number of that job, counted from 0 */
  uint64_t reserved[3];                /* 40: always 0 */
  uint64_t shape[RTEXEC_MESSAGE_RANK]; /* 64: the sizes of the dimensions, the slowest-varying first; 0 beyond `rank` */
} rtexec_message;

#ifdef __cplusplus
}
#endif

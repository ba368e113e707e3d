/* Errors of the C API (rtexec.h, workload.h): a code, and text for people. C11 and C++17. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* The codes of Errc in <rtexec/result.hpp>. A later version may add codes at the end. */
typedef enum rtexec_code {
  RTEXEC_OK = 0,
  RTEXEC_BAD_INPUT,     /* a file or an argument has an impossible value */
  RTEXEC_NOT_PROVED,    /* admission could not promise the requested deadlines */
  RTEXEC_MISSED,        /* a deadline or a bound was missed */
  RTEXEC_REFUSED,       /* the machine refused a request */
  RTEXEC_OUT_OF_MEMORY, /* a device, an arena or a fixed table is full */
  RTEXEC_UNSUPPORTED,   /* the board or this version of rtexec does not support the request */
  RTEXEC_DEVICE_FAULT,  /* the device, or work on it, failed */
  RTEXEC_DEVICE_LOST,   /* an earlier fault ended the device: no further work can run on it */
  RTEXEC_CANCELLED,     /* the work was withdrawn before it was executed */
  RTEXEC_IO_ERROR,      /* a backing store could not be read or written */
  RTEXEC_CORRUPTED,     /* memory has other contents after it was loaded from its backing store */
  RTEXEC_STALE          /* an input has no new value */
} rtexec_code;

enum { RTEXEC_ERROR_LENGTH = 4096 };

/* The error of a call. A failed call fills in the error, and a successful call leaves it unchanged. The caller owns
 * the struct, and no memory in it must be freed. A text that is too long ends in "...". Every call accepts a null
 * pointer in place of an error. */
typedef struct rtexec_error {
  rtexec_code code;
  char what[RTEXEC_ERROR_LENGTH]; /* one or more full lines, UTF-8, ready to be shown to the user */
} rtexec_error;

#ifdef __cplusplus
}
#endif

/* Errors of the C API (rtexec.h, workload.h): a code, and text for people. C11 and C++17. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* The same codes as Errc of <rtexec/result.hpp>. A later version may add codes at the end. */
typedef enum rtexec_code {
  RTEXEC_OK = 0,
  RTEXEC_BAD_INPUT,     /* a file or an argument has an impossible value */
  RTEXEC_NOT_PROVED,    /* admission could not promise the requested deadlines */
  RTEXEC_MISSED,        /* a deadline or a bound was missed */
  RTEXEC_REFUSED,       /* the machine refused a request */
  RTEXEC_OUT_OF_MEMORY, /* a device, an arena or a fixed table is full */
  RTEXEC_UNSUPPORTED,   /* the board or this version cannot do it */
  RTEXEC_DEVICE_FAULT,  /* the device, or work on it, failed */
  RTEXEC_DEVICE_LOST,   /* an earlier fault ended the device: no further work can run on it */
  RTEXEC_CANCELLED,     /* the work was withdrawn before it ran */
  RTEXEC_IO_ERROR,      /* a backing store could not be read or written */
  RTEXEC_CORRUPTED,     /* memory came back from its backing store with other contents */
  RTEXEC_STALE          /* an input has no new value */
} rtexec_code;

enum { RTEXEC_ERROR_LENGTH = 4096 };

/* The error of a call. A call fills it in if it fails, and does not change it if it succeeds. The caller owns it,
 * and nothing needs to be freed. A text that does not fit ends in "...". Every call accepts null instead of an
 * address of an error. */
typedef struct rtexec_error {
  rtexec_code code;
  char what[RTEXEC_ERROR_LENGTH]; /* one or more full lines, UTF-8, ready to be shown to the user */
} rtexec_error;

#ifdef __cplusplus
}
#endif

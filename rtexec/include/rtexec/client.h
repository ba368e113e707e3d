/* For programs that run under rtexecd with librtexec-preload.so in front of their CUDA: where a job begins and ends,
   and what it is promised. Without a word a job is what goes to the device between two synchronisations after which the
   device is idle. C11.

   Nothing is to be linked: the functions are found where the library is preloaded, and without it return
   RTEXEC_CLIENT_ABSENT and do nothing, so that a program can call them always. Any thread; they never end the process.
   Link with -ldl where the C library is older than 2.34. */
#ifndef RTEXEC_CLIENT_H
#define RTEXEC_CLIENT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  RTEXEC_CLIENT_OK = 0,
  RTEXEC_CLIENT_ABSENT = 1,     /* no library, no daemon, or no CUDA yet: nothing is promised */
  RTEXEC_CLIENT_REFUSED = 2,    /* the daemon refused it: rtexec_client_error() says why */
  RTEXEC_CLIENT_NOT_PROVED = 3, /* a deadline could not be promised: rtexec_client_error() has the numbers */
};

enum {                               /* what a job above its WCET brings */
       RTEXEC_OVERRUN_TELL = 0,      /* it is counted */
       RTEXEC_OVERRUN_SKIP_NEXT = 1, /* the next job is released one period later */
       RTEXEC_OVERRUN_STOP = 2,      /* the client is disconnected */
};

typedef struct rtexec_job_declaration {
  int64_t period_ns;   /* the least time between two jobs */
  int64_t deadline_ns; /* from a job's begin, at most the period */
  int64_t wcet_ns;     /* of a job on the device, alone, with all its memory there */
  int32_t priority;    /* 1 to 99, larger is more urgent; 0: by period or deadline */
  int32_t on_overrun;  /* RTEXEC_OVERRUN_... */
} rtexec_job_declaration;

/* Of the library, found at run time. */
static inline void* rtexec_client_function(const char* name) {
  void* program = dlopen(NULL, RTLD_LAZY);
  return program != NULL ? dlsym(program, name) : NULL;
}

/* From now on jobs are as declared. `response_bound_ns`, unless it is null, gets how long after a job's begin it ends
   at the latest. Once a CUDA context is current. Where that can be promised only when jobs of others have ended that
   were delayed, this waits for up to 2 s, but not in a job. */
static inline int rtexec_job_declare(const rtexec_job_declaration* declaration, int64_t* response_bound_ns) {
  int (*declare)(const rtexec_job_declaration*, int64_t*) = NULL;
  void* found = rtexec_client_function("rtexec_client_job_declare");
  memcpy(&declare, &found, sizeof declare);
  return declare != NULL ? declare(declaration, response_bound_ns) : RTEXEC_CLIENT_ABSENT;
}

/* Waits until the device is this process's. Jobs nest: the outermost counts. */
static inline int rtexec_job_begin(void) {
  int (*begin)(void) = NULL;
  void* found = rtexec_client_function("rtexec_client_job_begin");
  memcpy(&begin, &found, sizeof begin);
  return begin != NULL ? begin() : RTEXEC_CLIENT_ABSENT;
}

/* Waits until the device has done all that it was given, and gives it back. */
static inline int rtexec_job_end(void) {
  int (*end)(void) = NULL;
  void* found = rtexec_client_function("rtexec_client_job_end");
  memcpy(&end, &found, sizeof end);
  return end != NULL ? end() : RTEXEC_CLIENT_ABSENT;
}

/* Why the calling thread's last call failed, or an empty text; valid until its next call. */
static inline const char* rtexec_client_error(void) {
  const char* (*error)(void) = NULL;
  void* found = rtexec_client_function("rtexec_client_last_error");
  memcpy(&error, &found, sizeof error);
  return error != NULL ? error() : "";
}

#ifdef __cplusplus
}
#endif

#endif

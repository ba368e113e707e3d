/* Declares the beginning, the end and the timing of jobs. For programs that share a GPU under the daemon rtexecd,
   with librtexec-preload.so preloaded before the CUDA driver. Without declarations a job is the work that is
   submitted to the device between two synchronisations after which the device is idle. C11.

   No library must be linked: the functions look up the preloaded library at run time. Without the preloaded
   library they return RTEXEC_CLIENT_ABSENT and have no effect, so that a program can always call them. The
   functions may be called from any thread and never end the process. Link with -ldl if the C library is older than
   2.34. */
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
  RTEXEC_CLIENT_ABSENT = 1,     /* the library is not preloaded, the daemon does not run, or CUDA is not initialised
                                 * yet: there is no promise */
  RTEXEC_CLIENT_REFUSED = 2,    /* the daemon refused the request: rtexec_client_error() returns the reason */
  RTEXEC_CLIENT_NOT_PROVED = 3, /* the deadline could not be promised: rtexec_client_error() returns the numbers */
};

enum {                               /* the reaction to a job that exceeds its WCET */
       RTEXEC_OVERRUN_TELL = 0,      /* the excess is counted */
       RTEXEC_OVERRUN_SKIP_NEXT = 1, /* the next job is released one period later */
       RTEXEC_OVERRUN_STOP = 2,      /* the client is disconnected */
};

typedef struct rtexec_job_declaration {
  int64_t period_ns;   /* the minimum time between two jobs */
  int64_t deadline_ns; /* from a job's beginning; at most the period */
  int64_t wcet_ns;     /* the worst-case execution time of a job that runs alone on the device, with all its memory
                        * on the device */
  int32_t priority;    /* 1 to 99, larger is more urgent; 0: the period or the deadline decides */
  int32_t on_overrun;  /* RTEXEC_OVERRUN_... */
} rtexec_job_declaration;

/* Returns a function of the preloaded library, found at run time. */
static inline void* rtexec_client_function(const char* name) {
  void* program = dlopen(NULL, RTLD_LAZY);
  return program != NULL ? dlsym(program, name) : NULL;
}

/* Declares the timing of the jobs that this process begins after this call. `response_bound_ns` may be null;
   otherwise it receives the maximum time from a job's beginning to its end. A CUDA context must be current. If the
   promise becomes possible only when delayed jobs of other clients have ended, waits up to 2 s for these jobs.
   A call inside a job does not wait. */
static inline int rtexec_job_declare(const rtexec_job_declaration* declaration, int64_t* response_bound_ns) {
  int (*declare)(const rtexec_job_declaration*, int64_t*) = NULL;
  void* found = rtexec_client_function("rtexec_client_job_declare");
  memcpy(&declare, &found, sizeof declare);
  return declare != NULL ? declare(declaration, response_bound_ns) : RTEXEC_CLIENT_ABSENT;
}

/* Begins a job: waits until this process owns the device. Calls may be nested: only the outermost pair of begin and
   end has an effect. */
static inline int rtexec_job_begin(void) {
  int (*begin)(void) = NULL;
  void* found = rtexec_client_function("rtexec_client_job_begin");
  memcpy(&begin, &found, sizeof begin);
  return begin != NULL ? begin() : RTEXEC_CLIENT_ABSENT;
}

/* Ends the job: waits until the device has finished all work that this process submitted, and then releases the
   device. */
static inline int rtexec_job_end(void) {
  int (*end)(void) = NULL;
  void* found = rtexec_client_function("rtexec_client_job_end");
  memcpy(&end, &found, sizeof end);
  return end != NULL ? end() : RTEXEC_CLIENT_ABSENT;
}

/* Returns the reason of the calling thread's last failure, or an empty text; valid until the thread's next call. */
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

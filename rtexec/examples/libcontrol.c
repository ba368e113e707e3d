/* The controller of control.c as a shared object, named in control.toml. Its argument is the speed to hold. */
#include <rtexec/workload.h>

#include <stdio.h>
#include <stdlib.h>

struct controller {
  rtexec_workload workload;
  double goal, speed, input, sum; /* sum of errors */
};

static rtexec_code compute(void* self, uint64_t job) {
  struct controller* controller = self;
  const double error = controller->goal - controller->speed;
  (void)job;
  controller->sum += error;
  controller->input = 2 * error + 0.5 * controller->sum;
  return RTEXEC_OK;
}

static rtexec_code apply(void* self, uint64_t job) {
  struct controller* controller = self;
  (void)job;
  controller->speed += 0.2 * (controller->input - controller->speed);
  return RTEXEC_OK;
}

const rtexec_workload* rtexec_workload_create(const char* task, const char* arguments, rtexec_error* error) {
  char* end = NULL;
  const double goal = strtod(arguments, &end);
  struct controller* controller = end == arguments ? NULL : calloc(1, sizeof *controller);
  if (controller == NULL) {
    error->code = RTEXEC_BAD_INPUT;
    snprintf(error->what, sizeof error->what, "%s: arguments = \"%s\": write the speed to hold", task, arguments);
    return NULL;
  }
  controller->goal = goal;
  controller->workload = (rtexec_workload){.size = sizeof controller->workload,
                                           .self = controller,
                                           .fingerprint = "controller-2",
                                           .before = compute,
                                           .after = apply,
                                           .destroy = free};
  return &controller->workload;
}

/* The controller of control.c as a shared object, which control.toml names. Its argument is the speed to hold. */
#include <rtexec/workload.h>

#include <stdio.h>
#include <stdlib.h>

struct controller {
  rtexec_workload workload;
  double goal, speed, error, input;
  double* sum; /* of errors, in device memory: survives between jobs */
};

static rtexec_code ready(void* self, const rtexec_device* device, const rtexec_memory* memory, rtexec_error* error) {
  struct controller* controller = self;
  if (device->stream != NULL) {
    snprintf(error->what, sizeof error->what, "this controller computes on the host device only");
    return RTEXEC_UNSUPPORTED;
  }
  controller->sum = memory->state;
  return RTEXEC_OK;
}

static rtexec_code read_speed(void* self, uint64_t job) {
  struct controller* controller = self;
  (void)job;
  controller->error = controller->goal - controller->speed;
  return RTEXEC_OK;
}

static rtexec_code compute(void* self) {
  struct controller* controller = self;
  *controller->sum += controller->error;
  controller->input = 2 * controller->error + 0.5 * *controller->sum;
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
                                           .memory = {.state = sizeof(double)},
                                           .fingerprint = "controller-1",
                                           .bind = ready,
                                           .before = read_speed,
                                           .execute = compute,
                                           .after = apply,
                                           .destroy = free};
  return &controller->workload;
}

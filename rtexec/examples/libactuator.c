/* A workload that turns a camera towards a target, as a shared object named in follow.toml. Input: the target's
 * position in a picture of 160 x 160 pixels, and its score. Output: the pan and tilt speeds. */
#include <rtexec/workload.h>

#include <stdio.h>
#include <stdlib.h>

struct actuator {
  rtexec_workload workload;
  rtexec_tensor inputs[1], outputs[1];
  float target[3];  /* x, y, score */
  float command[2]; /* pan, tilt */
};

static const int64_t target_shape[] = {3}, command_shape[] = {2};

static rtexec_code compute(void* self, uint64_t job) {
  struct actuator* actuator = self;
  (void)job;
  for (int i = 0; i < 2; ++i)
    actuator->command[i] = actuator->target[2] > 0.3F ? 0.02F * (actuator->target[i] - 80) : 0;
  return RTEXEC_OK;
}

/* A real actuator would command its motor here, without blocking: by a register, or by a queue to another thread. */
static rtexec_code apply(void* self, uint64_t job) {
  (void)self, (void)job;
  return RTEXEC_OK;
}

const rtexec_workload* rtexec_workload_create(const char* task, const char* arguments, rtexec_error* error) {
  struct actuator* actuator = calloc(1, sizeof *actuator);
  (void)arguments;
  if (actuator == NULL) {
    error->code = RTEXEC_OUT_OF_MEMORY;
    snprintf(error->what, sizeof error->what, "%s: no memory is left", task);
    return NULL;
  }
  actuator->inputs[0] = (rtexec_tensor){.size = sizeof *actuator->inputs,
                                        .name = "target",
                                        .type = RTEXEC_FLOAT32,
                                        .rank = 1,
                                        .shape = target_shape,
                                        .data = actuator->target,
                                        .bytes = sizeof actuator->target};
  actuator->outputs[0] = (rtexec_tensor){.size = sizeof *actuator->outputs,
                                         .name = "command",
                                         .type = RTEXEC_FLOAT32,
                                         .rank = 1,
                                         .shape = command_shape,
                                         .data = actuator->command,
                                         .bytes = sizeof actuator->command};
  actuator->workload = (rtexec_workload){.size = sizeof actuator->workload,
                                         .self = actuator,
                                         .fingerprint = "actuator-1",
                                         .before = compute,
                                         .after = apply,
                                         .destroy = free,
                                         .inputs = actuator->inputs,
                                         .input_count = 1,
                                         .outputs = actuator->outputs,
                                         .output_count = 1};
  return &actuator->workload;
}

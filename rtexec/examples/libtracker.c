/* A workload that follows the best of a detector's boxes, as a shared object named in follow.toml. Input: boxes, each
 * with left, top, right, bottom, score and class; zeros follow the last box. Output: the target's centre and score. */
#include <rtexec/workload.h>

#include <stdio.h>
#include <stdlib.h>

enum { BOXES = 16 };

struct tracker {
  rtexec_workload workload;
  rtexec_tensor inputs[1], outputs[1];
  float boxes[BOXES][6];
  float target[3]; /* x, y, score */
};

static const int64_t boxes_shape[] = {BOXES, 6}, target_shape[] = {3};

/* Moves the target part of the way to the new position, further for a higher score. */
static rtexec_code follow(void* self, uint64_t job) {
  struct tracker* tracker = self;
  const float* best = tracker->boxes[0];
  const float sure = best[4];
  (void)job;
  tracker->target[0] += sure * ((best[0] + best[2]) / 2 - tracker->target[0]);
  tracker->target[1] += sure * ((best[1] + best[3]) / 2 - tracker->target[1]);
  tracker->target[2] = sure;
  return RTEXEC_OK;
}

const rtexec_workload* rtexec_workload_create(const char* task, const char* arguments, rtexec_error* error) {
  struct tracker* tracker = calloc(1, sizeof *tracker);
  (void)arguments;
  if (tracker == NULL) {
    error->code = RTEXEC_OUT_OF_MEMORY;
    snprintf(error->what, sizeof error->what, "%s: no memory is left", task);
    return NULL;
  }
  tracker->inputs[0] = (rtexec_tensor){.size = sizeof *tracker->inputs,
                                       .name = "boxes",
                                       .type = RTEXEC_FLOAT32,
                                       .rank = 2,
                                       .shape = boxes_shape,
                                       .data = tracker->boxes,
                                       .bytes = sizeof tracker->boxes};
  tracker->outputs[0] = (rtexec_tensor){.size = sizeof *tracker->outputs,
                                        .name = "target",
                                        .type = RTEXEC_FLOAT32,
                                        .rank = 1,
                                        .shape = target_shape,
                                        .data = tracker->target,
                                        .bytes = sizeof tracker->target};
  tracker->workload = (rtexec_workload){.size = sizeof tracker->workload,
                                        .self = tracker,
                                        .fingerprint = "tracker-1",
                                        .before = follow,
                                        .destroy = free,
                                        .inputs = tracker->inputs,
                                        .input_count = 1,
                                        .outputs = tracker->outputs,
                                        .output_count = 1};
  return &tracker->workload;
}

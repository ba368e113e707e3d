/* A motion detector as a shared object, named in motion.toml: a workload with a device part, whose memory may be
 * swapped. Its argument is the number of pixels. It is for the host device. On a GPU bind() would load a module, and
 * execute() would launch its kernel into device->stream, then return device->wait(device->self). */
#include <rtexec/workload.h>

#include <stdio.h>
#include <stdlib.h>

struct motion {
  rtexec_workload workload;
  size_t pixels;
  float *picture, *gain; /* picture of the camera, gain of its lens; allocated here */
  const float* device_gain;
  float *difference, *mean; /* on the device */
  float moved;              /* motion in the last job; after() could act upon it */
};

static rtexec_code bind(void* self, const rtexec_device* device, const rtexec_memory* memory, rtexec_error* error) {
  struct motion* motion = self;
  if (device->stream != NULL) {
    error->code = RTEXEC_UNSUPPORTED;
    snprintf(error->what, sizeof error->what, "motion has no kernel for %s: take the host device", device->name);
    return error->code;
  }
  motion->device_gain = memory->constant;
  motion->difference = memory->scratch;
  motion->mean = memory->state;
  return RTEXEC_OK;
}

static rtexec_code take_picture(void* self, uint64_t job) {
  struct motion* motion = self;
  for (size_t i = 0; i < motion->pixels; ++i) motion->picture[i] = (float)((i + job) % 256);
  return RTEXEC_OK;
}

static rtexec_code compare(void* self) {
  struct motion* motion = self;
  for (size_t i = 0; i < motion->pixels; ++i) {
    motion->difference[i] = motion->picture[i] * motion->device_gain[i] - motion->mean[i];
    motion->mean[i] += 0.1F * motion->difference[i];
  }
  motion->moved = 0;
  for (size_t i = 0; i < motion->pixels; ++i) motion->moved += motion->difference[i] * motion->difference[i];
  return RTEXEC_OK;
}

static void destroy(void* self) {
  struct motion* motion = self;
  free(motion->picture);
  free(motion->gain);
  free(motion);
}

const rtexec_workload* rtexec_workload_create(const char* task, const char* arguments, rtexec_error* error) {
  const size_t pixels = strtoul(arguments, NULL, 10);
  struct motion* motion = calloc(1, sizeof *motion);
  if (pixels == 0 || motion == NULL) goto refused;
  motion->picture = calloc(pixels, sizeof(float));
  motion->gain = calloc(pixels, sizeof(float));
  if (motion->picture == NULL || motion->gain == NULL) goto refused;
  for (size_t i = 0; i < pixels; ++i) motion->gain[i] = 1.1F;
  motion->pixels = pixels;
  const uint64_t bytes = pixels * sizeof(float);
  motion->workload = (rtexec_workload){.size = sizeof motion->workload,
                                       .self = motion,
                                       .memory = {.constant = bytes, .scratch = bytes, .state = bytes},
                                       .constants = motion->gain,
                                       .fingerprint = "motion-1",
                                       .bind = bind,
                                       .before = take_picture,
                                       .execute = compare,
                                       .destroy = destroy};
  return &motion->workload;
refused:
  if (motion != NULL) destroy(motion);
  error->code = RTEXEC_BAD_INPUT;
  snprintf(error->what, sizeof error->what, "%s: arguments = \"%s\": write a number of pixels", task, arguments);
  return NULL;
}

/* The smallest back end, named in double.toml. Its models are text files with two numbers: the number of floats and a
 * factor. Its networks multiply each float by the factor. For the host device: execute() itself computes. */
#include <rtexec/backend.h>

#include <stdio.h>
#include <stdlib.h>

struct network {
  rtexec_workload workload;
  rtexec_tensor input, output;
  int64_t count;
  float factor;
};

static rtexec_code multiply(void* self) {
  struct network* network = self;
  const float* from = network->input.data;
  float* to = network->output.data;
  for (int64_t i = 0; i < network->count; ++i) to[i] = from[i] * network->factor;
  return RTEXEC_OK;
}

static void destroy(void* self) {
  struct network* network = self;
  free(network->input.data);
  free(network->output.data);
  free(network);
}

static rtexec_tensor tensor(const char* name, const int64_t* count) {
  const size_t bytes = (size_t)*count * sizeof(float);
  return (rtexec_tensor){.size = sizeof(rtexec_tensor),
                         .name = name,
                         .type = RTEXEC_FLOAT32,
                         .rank = 1,
                         .shape = count,
                         .data = malloc(bytes),
                         .bytes = bytes};
}

static const rtexec_workload* open_model(const rtexec_model* model, rtexec_error* error) {
  struct network* network = calloc(1, sizeof *network);
  FILE* file = fopen(model->file, "r");
  const int read = network && file ? fscanf(file, "%ld %f", &network->count, &network->factor) : 0;
  if (file) fclose(file);
  if (read != 2 || network->count < 1 || network->count > 1000000) {
    free(network);
    error->code = RTEXEC_BAD_INPUT;
    snprintf(error->what, sizeof error->what, "write how many floats, at most 1000000, and a factor: \"64 2.0\"");
    return NULL;
  }
  network->input = tensor("x", &network->count);
  network->output = tensor("y", &network->count);
  network->workload = (rtexec_workload){.size = sizeof network->workload,
                                        .self = network,
                                        .fingerprint = "double-1",
                                        .own_host = network->input.bytes + network->output.bytes,
                                        .execute = multiply,
                                        .destroy = destroy,
                                        .inputs = &network->input,
                                        .input_count = 1,
                                        .outputs = &network->output,
                                        .output_count = 1};
  if (network->input.data != NULL && network->output.data != NULL) return &network->workload;
  destroy(network);
  error->code = RTEXEC_OUT_OF_MEMORY;
  snprintf(error->what, sizeof error->what, "no memory for %ld floats", (long)network->count);
  return NULL;
}

const rtexec_backend* rtexec_backend_get(void) {
  static const rtexec_backend backend = {.size = sizeof backend,
                                         .version = RTEXEC_BACKEND_VERSION,
                                         .name = "double 1",
                                         .device_kinds = RTEXEC_DEVICE_HOST,
                                         .open = open_model};
  return &backend;
}

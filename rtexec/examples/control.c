/* A control loop whose workload is this program's own, in C: measured, planned, run. */
#include <rtexec/rtexec.h>

#include <stdio.h>

/* The speed of the plant, which follows its input with some delay. */
static double speed;

/* Holds the plant at `goal`. It runs on its core alone: without execute() it never waits for the device. */
struct controller {
  double goal, input, sum; /* sum of errors */
};

static rtexec_code compute(void* self, uint64_t job) {
  struct controller* controller = self;
  const double error = controller->goal - speed;
  (void)job;
  controller->sum += error;
  controller->input = 2 * error + 0.5 * controller->sum;
  return RTEXEC_OK;
}

static rtexec_code apply(void* self, uint64_t job) {
  const struct controller* controller = self;
  (void)job;
  speed += 0.2 * (controller->input - speed);
  return RTEXEC_OK;
}

static struct controller controller = {.goal = 1.5};
static const rtexec_workload workload = {
    .size = sizeof workload, .self = &controller, .fingerprint = "controller-2", .before = compute, .after = apply};

static const rtexec_workload* create(void* context, rtexec_error* error) {
  (void)context, (void)error;
  return &workload;
}

static void late(void* context, const rtexec_miss* miss) {
  (void)context;
  printf("job %llu of %s was late\n", (unsigned long long)miss->job, miss->task);
}

static const char task_set[] =
    "[executive]\n"
    "duration = '2s'\n"
    "allow_degraded = true\n" /* also run if the machine grants no real-time priorities; then nothing is promised */
    "profile = 'control-c.profile.toml'\n"
    "[device]\n"
    "capacity = '64MiB'\n"
    "[[task]]\n"
    "name = 'control'\n"
    "workload = 'custom'\n"
    "period = '50ms'\n";

static int run(const rtexec_task_set* set, const rtexec_setup* setup, rtexec_error* error) {
  if (rtexec_profile(set, setup, 20, 2, error) != RTEXEC_OK) return 1;
  rtexec_executive* executive = rtexec_create(set, setup, error);
  if (executive == NULL) return 1;
  puts(rtexec_plan_proved(rtexec_executive_plan(executive)) ? "proved, unless the report says \"degraded\""
                                                            : "not proved");
  const int failed = rtexec_start(executive, error) != RTEXEC_OK;
  if (!failed) {
    rtexec_wait(executive, -1);
    puts(rtexec_stop(executive, error));
    printf("speed %f, every deadline %s\n", speed, rtexec_deadlines_kept(executive) ? "kept" : "not kept");
  }
  rtexec_executive_free(executive);
  return failed;
}

int main(void) {
  const rtexec_own_workload own = {.size = sizeof own, .task = "control", .create = create};
  const rtexec_setup setup = {.size = sizeof setup, .workloads = &own, .workload_count = 1, .on_miss = late};
  rtexec_error error;
  rtexec_task_set* set = rtexec_parse(task_set, "control-c.toml", &error);
  const int failed = set == NULL || run(set, &setup, &error);
  if (failed) fprintf(stderr, "%s\n", error.what);
  rtexec_task_set_free(set);
  return failed || speed < 1.4 || speed > 1.6;
}

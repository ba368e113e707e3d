/* The program of detector.cpp in C: feeds frames to a detector and takes its boxes.
 *
 *   cc detector.c -o detector-c -pthread $(pkg-config --cflags --libs rtexec-c)
 *   rtexec model yolov3-tiny --size 160
 *   ./detector-c profile                  # measures execution times, frames and boxes among them; once
 *   ./detector-c
 */
#define _POSIX_C_SOURCE 200809L
#include <rtexec/rtexec.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SIZE = 160, MOST_BOXES = 32 }; /* width and height of the network's input; maximum number of boxes used */

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* A mailbox of three slots from one thread to another; neither thread waits. The writer fills its slot and publishes
 * it. The reader takes the newest slot, if one was published since the last time. */
struct slots {
  atomic_uint shared;
  unsigned writing, reading;
};
enum { FRESH = 4 };

static void publish(struct slots* slots) {
  slots->writing = atomic_exchange(&slots->shared, slots->writing | FRESH) & ~(unsigned)FRESH;
}

static bool take_newest(struct slots* slots) {
  if ((atomic_load(&slots->shared) & FRESH) == 0) return false;
  slots->reading = atomic_exchange(&slots->shared, slots->reading) & ~(unsigned)FRESH;
  return true;
}

static struct slots frame_slots = {2, 0, 1}, answer_slots = {2, 0, 1};

static struct frame {
  int64_t taken_ns;
  float pixels[3 * SIZE * SIZE]; /* red, green and blue planes, 0 to 1 */
} frames[3];

static struct found {
  uint64_t job;
  int64_t age_ns; /* age of the frame when its boxes were ready */
  rtexec_box boxes[MOST_BOXES];
  size_t count;
} answers[3];

/* Replaces a camera or a decoder: draws a bright square that moves. */
static atomic_bool ending;
static void* take_pictures(void* unused) {
  const struct timespec pause = {0, 50 * 1000 * 1000};
  for (size_t at = 0; !atomic_load(&ending); at = (at + 4) % (SIZE / 2)) {
    struct frame* frame = &frames[frame_slots.writing];
    frame->taken_ns = now_ns();
    for (size_t i = 0; i < 3 * SIZE * SIZE; ++i) {
      const size_t x = i % SIZE, y = i / SIZE % SIZE;
      frame->pixels[i] = x >= at && x < at + SIZE / 2 && y >= at && y < at + SIZE / 2 ? 0.9F : 0.2F;
    }
    publish(&frame_slots);
    nanosleep(&pause, NULL);
  }
  return unused;
}

/* Both functions run on the task's real-time threads: they only copy, and leave the rest to other threads. */
static rtexec_code put_frame(void* context, rtexec_input_job* job) {
  (void)context;
  if (!take_newest(&frame_slots)) return RTEXEC_STALE;
  const struct frame* frame = &frames[frame_slots.reading];
  if (job->inputs[0].type != RTEXEC_FLOAT32 || job->inputs[0].bytes != sizeof frame->pixels) return RTEXEC_BAD_INPUT;
  memcpy(job->inputs[0].data, frame->pixels, sizeof frame->pixels);
  job->sampled_ns = frame->taken_ns;
  return RTEXEC_OK;
}

static void take_boxes(void* context, const rtexec_output_job* job) {
  struct found* found = &answers[answer_slots.writing];
  (void)context;
  found->job = job->job;
  found->age_ns = now_ns() - job->sampled_ns;
  found->count = job->detection_count < MOST_BOXES ? job->detection_count : MOST_BOXES;
  if (found->count > 0) memcpy(found->boxes, job->detections, found->count * sizeof *found->boxes);
  publish(&answer_slots);
}

static void show(const struct found* found) {
  printf("job %llu: %zu boxes, %.1f ms after the frame was taken", (unsigned long long)found->job, found->count,
         (double)found->age_ns / 1e6);
  if (found->count > 0)
    printf("; the best one is of class %u, at %.0f, %.0f", found->boxes[0].label, (double)found->boxes[0].left,
           (double)found->boxes[0].top);
  putchar('\n');
}

static rtexec_code run(const rtexec_task_set* set, const rtexec_setup* setup, rtexec_error* error) {
  rtexec_executive* executive = rtexec_create(set, setup, error);
  rtexec_code code = executive == NULL ? error->code : rtexec_start(executive, error);
  if (code == RTEXEC_OK) {
    while (!rtexec_wait(executive, 20 * 1000 * 1000))
      if (take_newest(&answer_slots)) show(&answers[answer_slots.reading]);
    if (rtexec_stop(executive, error) == NULL) code = error->code;
    else printf("every deadline %s\n", rtexec_deadlines_kept(executive) ? "kept" : "not kept");
  }
  rtexec_executive_free(executive);
  return code;
}

int main(int argc, char** argv) {
  const rtexec_task_callbacks callbacks = {
      .size = sizeof callbacks, .task = "detector", .on_input = put_frame, .on_output = take_boxes};
  const rtexec_setup setup = {.size = sizeof setup, .callbacks = &callbacks, .callback_count = 1};
  rtexec_error error = {RTEXEC_OK, ""};
  pthread_t camera;
  if (pthread_create(&camera, NULL, take_pictures, NULL) != 0) return 1;
  rtexec_task_set* set = rtexec_load("detector.toml", &error);
  if (set != NULL && argc > 1 && strcmp(argv[1], "profile") == 0) rtexec_profile(set, &setup, 20, 2, &error);
  else if (set != NULL) run(set, &setup, &error);
  if (error.code != RTEXEC_OK) fprintf(stderr, "%s\n", error.what);
  rtexec_task_set_free(set);
  atomic_store(&ending, true);
  pthread_join(camera, NULL);
  return error.code != RTEXEC_OK;
}

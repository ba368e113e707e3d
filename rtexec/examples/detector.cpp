// Feeds frames to a detector and reads its boxes:
//
//   c++ detector.cpp -o detector-cpp -pthread $(pkg-config --cflags --libs rtexec)
//   rtexec model yolov3-tiny --size 160
//   ./detector-cpp profile                # measures execution times, frames and boxes among them; once
//   ./detector-cpp
#include <rtexec/executive.hpp>
#include <rtexec/profiler.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <string_view>
#include <thread>

namespace {

using namespace std::chrono_literals;

/// A mailbox with the newest value, from one thread to another. Neither thread waits, and nothing is allocated.
template <class T> class Newest {
 public:
  // Writer: fill next(), then publish().
  T& next() { return slots_[writing_]; }
  void publish() { writing_ = shared_.exchange(writing_ | fresh) & ~fresh; }
  /// Reader: returns the newest value, or null if no value was published since the last call. The value is valid until
  /// the next call.
  const T* newest() {
    if ((shared_.load() & fresh) == 0) return nullptr;
    reading_ = shared_.exchange(reading_) & ~fresh;
    return &slots_[reading_];
  }

 private:
  static constexpr unsigned fresh = 4;
  std::array<T, 3> slots_{};
  unsigned writing_ = 0, reading_ = 1;
  std::atomic<unsigned> shared_ = 2;
};

constexpr std::size_t size = 160; // width and height of the network's input, in pixels

struct Frame {
  rtexec::Instant taken{};
  std::array<float, 3 * size * size> pixels{}; // red, green and blue planes, 0 to 1
};

struct Found {
  std::uint64_t job = 0;
  rtexec::Duration age{}; // age of the frame when its boxes were ready
  std::array<rtexec::Box, 32> boxes{};
  std::size_t count = 0;
};

Newest<Frame> frames;
Newest<Found> answers;

/// Replaces a camera or a decoder: draws a bright square that moves.
void take_pictures(std::stop_token stop) {
  for (std::size_t at = 0; !stop.stop_requested(); at = (at + 4) % (size / 2)) {
    Frame& frame = frames.next();
    frame.taken = rtexec::Instant(std::chrono::steady_clock::now().time_since_epoch());
    for (std::size_t i = 0; i < frame.pixels.size(); ++i) {
      const std::size_t x = i % size, y = i / size % size;
      frame.pixels[i] = x >= at && x < at + size / 2 && y >= at && y < at + size / 2 ? 0.9F : 0.2F;
    }
    frames.publish();
    std::this_thread::sleep_for(50ms);
  }
}

// Both functions run on the task's real-time threads: they only copy, and leave all other work to other threads.
rtexec::Status put_frame(rtexec::InputJob& job) {
  const Frame* frame = frames.newest();
  if (frame == nullptr) return rtexec::Unexpected(rtexec::Errc::stale);
  const std::span<float> input = job.inputs[0].as<float>();
  if (input.size() != frame->pixels.size()) return rtexec::Unexpected(rtexec::Errc::bad_input);
  std::ranges::copy(frame->pixels, input.begin());
  job.sampled = frame->taken;
  return {};
}

void take_boxes(const rtexec::OutputJob& job) {
  Found& found = answers.next();
  found.job = job.job;
  found.age = rtexec::Instant(std::chrono::steady_clock::now().time_since_epoch()) - job.sampled;
  found.count = std::min(job.detections.size(), found.boxes.size());
  std::ranges::copy(job.detections.first(found.count), found.boxes.begin());
  answers.publish();
}

rtexec::ExecutiveSetup with_callbacks() {
  rtexec::ExecutiveSetup setup;
  setup.callbacks["detector"] = {.on_input = put_frame, .on_output = take_boxes};
  return setup;
}

rtexec::Result<> measure(const rtexec::TaskSet& set) {
  const auto measured = rtexec::profile(set, {.jobs = 20, .margin = 2}, {}, with_callbacks);
  return measured ? rtexec::write_profile(*measured, set.executive.profile) : rtexec::Unexpected(measured.error());
}

rtexec::Result<> run(const rtexec::TaskSet& set) {
  auto executive = rtexec::Executive::create(set, with_callbacks());
  if (!executive) return rtexec::Unexpected(executive.error());
  if (const auto started = executive->start(); !started) return started;
  while (!executive->wait(20ms)) {
    const Found* found = answers.newest();
    if (found == nullptr) continue;
    std::cout << "job " << found->job << ": " << found->count << " boxes, " << rtexec::readable(found->age)
              << " after the frame was taken";
    if (found->count > 0)
      std::cout << "; the best one is of class " << found->boxes[0].label << ", at " << found->boxes[0].left << ", "
                << found->boxes[0].top;
    std::cout << '\n';
  }
  const rtexec::Report report = executive->stop();
  std::cout << report.tasks[0].completed << " jobs, " << report.tasks[0].missed << " of them late\n";
  return {};
}

} // namespace

int main(int argc, char** argv) {
  const std::jthread camera(take_pictures);
  const auto set = rtexec::read_task_set("detector.toml");
  rtexec::Result<> done = set ? rtexec::Result<>() : rtexec::Unexpected(set.error());
  if (done) done = argc > 1 && std::string_view(argv[1]) == "profile" ? measure(*set) : run(*set);
  if (done) return 0;
  std::cerr << done.error().what << '\n';
  return rtexec::exit_code(done.error().code);
}

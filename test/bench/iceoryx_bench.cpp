// A round trip of a message between two processes that poll without a pause. It goes through our publisher and
// subscriber and, alternately, through plain code on iceoryx's C binding, as in its example iceperf. Both release each
// sample before they answer, as jobs do once a tensor contains it. Then the cost of waiting for a message, and how late
// the wait ends.
#include "hal/thread.hpp"
#include "rtexec/runtime/channels/iceoryx.hpp"
#include "rtexec/runtime/channels/iceoryx_binding.hpp"
#include "test/bench/statistics.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <spawn.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <utility>
#include <unistd.h>
#include <vector>

namespace {

using namespace rtexec;
using namespace rtexec::channels::iceoryx;
using namespace std::chrono_literals;

// Blocks and trips of each way, alternately; `warm` blocks do not count.
constexpr int blocks = 200, trips = 500, warm = 5;
constexpr std::uint64_t payload = 1024;

template <class T> T need(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().what.c_str());
  std::exit(5);
}

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(5);
}

Service service(bool leader) { return {"rtexec-bench", leader ? "to" : "fro", "ours"}; }

/// One side's ends of both ways.
class Ours {
 public:
  explicit Ours(bool leader)
      : out_(need(Publisher::open(service(leader), {payload}))), in_(need(Subscriber::open(service(!leader)))) {
    header_.element = RTEXEC_ELEMENT_UINT8;
    header_.rank = 1;
    header_.shape[0] = payload;
  }
  bool connected() const { return out_->has_subscribers(); }
  void send() {
    if (!out_->loan({payload}) || !out_->publish(header_)) give_up("sending");
  }
  void receive() {
    for (;;)
      if (const auto found = in_->newest(); found && *found) return in_->release();
  }

 private:
  std::unique_ptr<Publisher> out_;
  std::unique_ptr<Subscriber> in_;
  rtexec_message header_{};
};

class Plain {
 public:
  explicit Plain(bool leader) : binding_(*need(open_binding())) {
    const char* event = "plain";
    PublisherOptions out_options;
    binding_.publisher_options(&out_options);
    out_ = binding_.publisher_create(&out_storage_, "rtexec-bench", leader ? "to" : "fro", event, &out_options);
    SubscriberOptions in_options;
    binding_.subscriber_options(&in_options);
    in_options.queue_capacity = 1;
    in_ = binding_.subscriber_create(&in_storage_, "rtexec-bench", leader ? "fro" : "to", event, &in_options);
  }
  bool connected() const { return binding_.has_subscribers(out_); }
  void send() {
    void* memory = nullptr;
    if (binding_.loan(out_, &memory, RTEXEC_MESSAGE_HEADER + payload, 8) != allocated) give_up("sending plainly");
    std::memcpy(memory, &topic_, sizeof topic_);
    binding_.publish(out_, memory);
  }
  void receive() {
    const void* memory = nullptr;
    while (binding_.take(in_, &memory) != received) {}
    std::memcpy(&topic_, memory, sizeof topic_);
    binding_.release(in_, memory);
  }

 private:
  struct Topic {
    std::uint32_t size = payload, flag = 0, packets = 1;
  };
  const Binding& binding_;
  Storage out_storage_, in_storage_;
  PublisherHandle out_ = nullptr;
  SubscriberHandle in_ = nullptr;
  Topic topic_;
};

void become_real_time(unsigned core) {
  (void)::mlockall(MCL_CURRENT | MCL_FUTURE);
  hal::ThreadSettings settings;
  settings.name = "bench";
  settings.core = core;
  settings.fifo_priority = 80;
  const auto applied = hal::apply(settings);
  if (!applied) std::printf("  without real-time priority: %s\n", applied.error().what.c_str());
}

template <class Way> void measure(Way& way, std::vector<double>* times) {
  for (int i = 0; i < trips; ++i) {
    const Instant begin = hal::now();
    way.send();
    way.receive();
    if (times != nullptr) times->push_back(std::chrono::duration<double, std::micro>(hal::now() - begin).count());
  }
}

template <class Way> void echo(Way& way) {
  for (int i = 0; i < trips; ++i) {
    way.receive();
    way.send();
  }
}

/// Both ways of one side, in the order in which they alternate.
struct Ways {
  Ours ours;
  Plain plain;
  explicit Ways(bool leader) : ours(leader), plain(leader) {
    while (!ours.connected() || !plain.connected()) std::this_thread::sleep_for(1ms);
  }
};

int follow() {
  Ways ways(false);
  become_real_time(1);
  for (int block = 0; block < warm + blocks; ++block) {
    echo(ways.ours);
    echo(ways.plain);
  }
  ::usleep(200'000); // until the last answer is read
  return 0;
}

void round_trips() {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe"), role = "follow";
  const char* arguments[] = {program.c_str(), role.c_str(), nullptr};
  pid_t follower = 0;
  if (::posix_spawn(&follower, program.c_str(), nullptr, nullptr, const_cast<char**>(arguments), ::environ) != 0)
    give_up("starting the other process");
  Ways ways(true);
  ::usleep(500'000); // the follower's ends are connected too
  std::vector<double> ours, plain;
  for (auto* times : {&ours, &plain}) times->reserve(blocks * trips);
  std::thread([&] {
    become_real_time(0);
    for (int block = -warm; block < blocks; ++block) {
      measure(ways.ours, block < 0 ? nullptr : &ours);
      measure(ways.plain, block < 0 ? nullptr : &plain);
    }
  }).join();
  ::waitpid(follower, nullptr, 0);
  std::printf("Round trip of %llu bytes between two processes, %d of each way in turn (goal: p99 at most 1.1)\n",
              static_cast<unsigned long long>(payload), blocks * trips);
  std::printf("  against the plain binding:");
  for (const auto& [name, share] : {std::pair{"p50", 0.5}, {"p99", 0.99}}) {
    const double mine = bench::percentile(ours, share), theirs = bench::percentile(plain, share);
    std::printf(" %s %.2f : %.2f us = %.2f", name, mine, theirs, mine / theirs);
  }
  std::printf("\n");
}

void waiting() {
  const Service own{"rtexec-bench", "own", "ours"};
  const auto out = need(Publisher::open(own, {64}));
  const auto in = need(Subscriber::open(own));
  while (!out->has_subscribers()) std::this_thread::sleep_for(1ms);
  rtexec_message header{};
  header.element = RTEXEC_ELEMENT_UINT8;
  header.rank = 1;
  header.shape[0] = 64;
  constexpr std::uint64_t messages = 300;
  std::vector<double> late;
  double share = 0;
  std::thread waits([&] {
    become_real_time(0);
    const Instant begin = hal::now();
    const Duration used = hal::execution_time();
    (void)in->await(begin + 2s);
    share = std::chrono::duration<double>(hal::execution_time() - used) / (hal::now() - begin);
    for (std::uint64_t job = 0; job + 1 < messages;) { // some may be missed
      if (in->await(hal::now() + 10s) != Subscriber::Wake::message) give_up("waiting");
      const auto found = in->newest();
      if (!found || !*found) give_up("receiving");
      job = (*found)->header->job;
      const std::int64_t sent = (*found)->header->released_ns;
      late.push_back(static_cast<double>(hal::now().time_since_epoch().count() - sent) / 1000);
    }
  });
  std::this_thread::sleep_for(2100ms);
  for (header.job = 0; header.job < messages; ++header.job) {
    std::this_thread::sleep_for(std::chrono::microseconds(3000 + 37 * (header.job % 29)));
    if (!out->loan({64})) give_up("sending");
    header.released_ns = hal::now().time_since_epoch().count();
    if (!out->publish(header)) give_up("sending");
  }
  waits.join();
  std::printf("Waiting for a message (await), which looks every %.0f us\n",
              std::chrono::duration<double, std::micro>(Subscriber::look_again).count());
  std::printf("  takes %.2f %% of its core; from publish to newest: p50 %.0f us, p99 %.0f us\n", 100 * share,
              bench::percentile(late, 0.5), bench::percentile(late, 0.99));
}

} // namespace

int main(int count, char**) {
  if (count > 1) return follow();
  (void)need(Publisher::open({"rtexec-bench", "this process", "starts the daemon"}, {64}));
  round_trips();
  waiting();
  return 0;
}

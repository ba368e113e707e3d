#include "traces/recording/flight_recorder.hpp"

#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>

namespace rtexec::traces {
namespace {

timespec on_the_clock(Instant instant) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(instant.time_since_epoch());
  return {.tv_sec = seconds.count(), .tv_nsec = (instant.time_since_epoch() - seconds).count()};
}

} // namespace

class FlightRecorder::Implementation {
 public:
  Implementation(LttngSession session, const FlightRecorderOptions& options)
      : session_(std::move(session)), options_(options) {
    ::sem_init(&asked_, 0, 0);
    writer_ = std::thread([this] { serve(); });
  }
  ~Implementation() {
    stop();
    ::sem_destroy(&asked_);
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  void take(std::string reason) {
    add(std::move(reason));
    ::sem_post(&asked_);
  }

  void take_for_signal() noexcept {
    signalled_.store(true);
    ::sem_post(&asked_);
  }

  Snapshots stop() {
    if (!writer_.joinable()) return snapshots_;
    stopping_.store(true);
    ::sem_post(&asked_);
    writer_.join();
    write();
    if (const auto ended = session_.end(); !ended && snapshots_.outcome) snapshots_.outcome = ended;
    return snapshots_;
  }

 private:
  void add(std::string reason) {
    const std::lock_guard lock(mutex_);
    if (reasons_++ == 0) reason_ = std::move(reason);
  }

  void serve() {
    while (!stopping_.load()) {
      while (::sem_wait(&asked_) != 0 && errno == EINTR) {}
      rest();
      if (!stopping_.load()) write();
    }
  }

  /// Waits until the next snapshot may be written, or until the recorder is stopped.
  void rest() {
    const timespec until = on_the_clock(next_);
    while (!stopping_.load() && std::chrono::steady_clock::now() < next_)
      ::sem_clockwait(&asked_, CLOCK_MONOTONIC, &until);
  }

  /// Writes one snapshot for all requests since the previous snapshot.
  void write() {
    if (signalled_.exchange(false)) add("SIGUSR1");
    std::unique_lock lock(mutex_);
    const std::uint64_t reasons = std::exchange(reasons_, 0);
    std::string reason = std::exchange(reason_, {});
    lock.unlock();
    if (reasons == 0) return;
    if (written_ == options_.most) return void(snapshots_.left_out += reasons);
    if (reasons > 1) reason += ", and " + std::to_string(reasons - 1) + " more";
    auto folder = session_.snapshot("snapshot-" + std::to_string(++written_));
    if (folder) snapshots_.written.push_back({std::move(*folder), std::move(reason)});
    else if (snapshots_.outcome) snapshots_.outcome = Unexpected(folder.error());
    next_ = std::chrono::steady_clock::now() + options_.apart;
  }

  LttngSession session_;
  const FlightRecorderOptions options_;
  sem_t asked_{};
  std::atomic<bool> signalled_{false}, stopping_{false};
  std::mutex mutex_; // guards the reasons of requests
  std::string reason_;
  std::uint64_t reasons_ = 0;
  std::thread writer_;
  // Accessed only by the writer until it has ended.
  unsigned written_ = 0;
  Instant next_{};
  Snapshots snapshots_;
};

Result<FlightRecorder> FlightRecorder::start(const std::filesystem::path& folder,
                                             const FlightRecorderOptions& options) {
  auto session = LttngSession::start(
      folder, {.keeps = LttngSession::Keeps::latest, .layers = options.layers, .buffer = options.buffer});
  if (!session) return Unexpected(session.error());
  return FlightRecorder(std::make_unique<Implementation>(std::move(*session), options));
}

FlightRecorder::FlightRecorder(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
FlightRecorder::FlightRecorder(FlightRecorder&&) noexcept = default;
FlightRecorder::~FlightRecorder() = default;

void FlightRecorder::take(std::string reason) { implementation_->take(std::move(reason)); }
void FlightRecorder::take_for_signal() noexcept { implementation_->take_for_signal(); }
Snapshots FlightRecorder::stop() { return implementation_->stop(); }

} // namespace rtexec::traces

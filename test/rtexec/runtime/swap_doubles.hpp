// A workload that detects a wrong byte in its memory, and a backing store that is slow, corrupts data or fails.
#pragma once

#include "hal/backing_store.hpp"
#include "hal/thread.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace rtexec::test {

inline constexpr Bytes small_chunk{64 << 10};

// ---- workloads ----

/// The results of a task's executions, in order. The warm-up is the first.
struct Seen {
  std::array<std::uint64_t, 1024> digests{};
  std::atomic<std::size_t> count{0};
  std::atomic<std::uint64_t> last_job{0};
  Memory memory;

  void add(std::uint64_t digest, std::uint64_t job) noexcept {
    const std::size_t index = count.load();
    if (index == digests.size()) return;
    digests[index] = digest;
    last_job.store(job);
    count.store(index + 1);
  }
  std::vector<std::uint64_t> all() const {
    return {digests.begin(), digests.begin() + static_cast<std::ptrdiff_t>(count.load())};
  }
};

inline void mix(std::uint64_t& digest, std::uint64_t word) noexcept {
  digest = (digest ^ word) * 0x9E3779B97F4A7C15U;
  digest ^= digest >> 32;
}

/// Reads all of its constants and its state, and changes its state.
class Hashing final : public Workload {
 public:
  /// How each execution changes the state: to new contents, its first half to new contents, or back and forth between
  /// two contents.
  enum class State { changes, half_changes, toggles };
  struct Shape {
    Bytes constant, scratch, state;
    State kind = State::changes;
    std::uint64_t seed = 1;
  };
  /// If set, called in each execution, on the compute engine's thread.
  using Beside = std::function<void(std::size_t execution)>;

  Hashing(const Shape& shape, std::shared_ptr<Seen> seen, Beside beside = {})
      : shape_(shape), seen_(std::move(seen)), beside_(std::move(beside)), constants_(shape.constant.count) {
    for (std::size_t i = 0; i < constants_.size(); ++i)
      constants_[i] = static_cast<std::byte>((i + shape.seed) * 2654435761U >> 11);
  }

  MemoryDemand memory() const override {
    return {.constant = shape_.constant, .scratch = shape_.scratch, .state = shape_.state};
  }
  std::span<const std::byte> constants() const override { return constants_; }
  std::string fingerprint() const override { return "hashing"; }
  /// Reads all of its memory, as drivers read the memory that they are given.
  Result<> bind(Device&, const Memory& memory) override {
    bind(memory);
    std::uint64_t sum = 0;
    for (const auto& part :
         {words(memory.constant, shape_.constant), words(static_cast<const std::byte*>(memory.scratch), shape_.scratch),
          words(static_cast<const std::byte*>(memory.state), shape_.state)})
      for (const std::uint64_t word : part) mix(sum, word);
    return sum == 1 ? fail(Errc::corrupted, "never") : Result<>();
  }
  void bind(const Memory& memory) { seen_->memory = memory; }

  Status before(std::uint64_t job) noexcept override {
    job_ = job;
    return {};
  }
  Status execute() noexcept override {
    const std::size_t execution = seen_->count.load();
    if (beside_) beside_(execution);
    std::uint64_t digest = shape_.seed;
    for (const std::uint64_t word : words(seen_->memory.constant, shape_.constant)) mix(digest, word);
    const auto scratch = words(seen_->memory.scratch, shape_.scratch);
    for (std::size_t i = 0; i < scratch.size(); ++i) scratch[i] = digest + i;
    const auto state = words(seen_->memory.state, shape_.state);
    for (std::size_t i = 0; i < state.size(); ++i) {
      mix(digest, state[i]);
      if (shape_.kind == State::toggles) state[i] ^= shape_.seed + i;
      if (shape_.kind == State::changes || (shape_.kind == State::half_changes && i < state.size() / 2))
        state[i] += digest;
    }
    for (const std::uint64_t word : scratch) mix(digest, word);
    seen_->add(digest, job_);
    return {};
  }
  Status after(std::uint64_t) noexcept override { return {}; }

 private:
  static std::span<const std::uint64_t> words(const std::byte* at, Bytes size) {
    return {reinterpret_cast<const std::uint64_t*>(at), size.count / 8};
  }
  static std::span<std::uint64_t> words(std::byte* at, Bytes size) {
    return {reinterpret_cast<std::uint64_t*>(at), size.count / 8};
  }

  Shape shape_;
  std::shared_ptr<Seen> seen_;
  Beside beside_;
  std::vector<std::byte> constants_;
  std::uint64_t job_ = 0;
};

/// Returns the results of `executions` executions whose memory is never evicted.
inline std::vector<std::uint64_t> expected(const Hashing::Shape& shape, std::size_t executions) {
  const auto seen = std::make_shared<Seen>();
  Hashing workload(shape, seen);
  std::vector<std::uint64_t> constant(shape.constant.count / 8), scratch(shape.scratch.count / 8),
      state(shape.state.count / 8);
  std::ranges::copy(workload.constants(), reinterpret_cast<std::byte*>(constant.data()));
  workload.bind({.constant = reinterpret_cast<const std::byte*>(constant.data()),
                 .scratch = reinterpret_cast<std::byte*>(scratch.data()),
                 .state = reinterpret_cast<std::byte*>(state.data())});
  for (std::size_t i = 0; i < executions; ++i) static_cast<void>(workload.execute());
  return seen->all();
}

// ---- a backing store ----

/// The store's next faults; each number is counted down.
struct StoreOrders {
  std::atomic<int> flips{0}; // loads that flip a bit on the device
  std::atomic<int> failing_loads{0};
  std::atomic<int> failing_saves{0};  // saves that leave random data in the store
  std::atomic<Duration::rep> each{0}; // duration of a transfer
  std::atomic<std::uint64_t> loads{0}, saves{0};

  static bool take(std::atomic<int>& orders) noexcept {
    if (orders.load() <= 0) return false;
    orders.fetch_sub(1);
    return true;
  }
};

/// A store over page-locked host memory.
class StoreDouble final : public hal::BackingStore {
 public:
  StoreDouble(std::unique_ptr<BackingStore> inner, Bytes chunk, std::shared_ptr<StoreOrders> orders)
      : inner_(std::move(inner)), orders_(std::move(orders)), chunk_(chunk), rubbish_(chunk.count, std::byte{0xEE}) {}

  std::string description() const override { return "double over " + inner_->description(); }
  std::string failure() const override { return failed_.load() ? "the double was told to fail" : ""; }
  std::size_t chunks() const override { return inner_->chunks(); }
  Result<> fill(std::size_t chunk, std::span<const std::byte> contents) override {
    return inner_->fill(chunk, contents);
  }

  Status load(std::size_t chunk, std::byte* window, hal::DuringCopy beside) noexcept override {
    orders_->loads.fetch_add(1);
    const Instant begin = hal::now();
    Status outcome = inner_->load(chunk, window, beside);
    if (StoreOrders::take(orders_->flips)) window[chunk_.count / 2] ^= std::byte{16};
    if (StoreOrders::take(orders_->failing_loads)) {
      failed_.store(true);
      outcome = Unexpected(Errc::io_error);
    }
    pass(begin, last_load_);
    return outcome;
  }
  Status save(std::size_t chunk, const std::byte* window, hal::DuringCopy beside) noexcept override {
    orders_->saves.fetch_add(1);
    const Instant begin = hal::now();
    const bool fails = StoreOrders::take(orders_->failing_saves);
    const Status outcome = inner_->save(chunk, fails ? rubbish_.data() : window, beside);
    pass(begin, last_save_);
    failed_.store(failed_.load() || fails);
    if (fails) return Unexpected(Errc::io_error);
    return outcome;
  }

 private:
  /// Ends a transfer that directly follows another one exactly one transfer time after it, so that gaps between them do
  /// not add up.
  void pass(Instant begin, Instant& last) noexcept {
    const Duration each{orders_->each.load()};
    if (each == Duration{0}) return;
    last = (begin - last < each / 2 ? last : begin) + each;
    hal::sleep_until(last);
  }

  std::unique_ptr<BackingStore> inner_;
  std::atomic<bool> failed_{false};
  std::shared_ptr<StoreOrders> orders_;
  Bytes chunk_;
  std::vector<std::byte> rubbish_;
  Instant last_load_{}, last_save_{}; // ends, each written by the thread of its copy engine
};

inline executive::OpenStore store_opener(const std::shared_ptr<StoreOrders>& orders) {
  return [orders](hal::Device& device, std::size_t chunks) -> Result<std::unique_ptr<hal::BackingStore>> {
    auto inner = hal::open_host_store(device, chunks, hal::HostMemoryKind::page_locked);
    if (!inner) return Unexpected(inner.error());
    return std::make_unique<StoreDouble>(std::move(*inner), device.chunk_size(), orders);
  };
}

// ---- swapped-out memory ----

/// Asks the kernel whether memory is readable: its system call fails where the program itself would fault.
class Probe {
 public:
  Probe() {
    if (::pipe2(ends_.data(), O_NONBLOCK | O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  ~Probe() {
    for (const int end : ends_) ::close(end);
  }
  bool readable(const std::byte* at) const noexcept {
    if (::write(ends_[1], at, 1) != 1) return errno != EFAULT;
    char taken = 0;
    return ::read(ends_[0], &taken, 1) == 1;
  }
  unsigned readable_chunks(const std::byte* begin, unsigned chunks) const noexcept {
    unsigned count = 0;
    for (unsigned i = 0; i < chunks; ++i) count += readable(begin + i * small_chunk.count);
    return count;
  }

 private:
  std::array<int, 2> ends_{};
};

} // namespace rtexec::test

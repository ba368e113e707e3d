#include "rtexec/studies/bringup/memory_items.hpp"

#include "config/base/must.hpp"
#include "hal/resources.hpp"
#include "hal/thread.hpp"
#include "rtexec/studies/bringup/answers.hpp"
#include "rtexec/studies/bringup/measured_items.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <thread>

namespace rtexec::bringup {
namespace {

using namespace std::chrono_literals;
using hal::Access;
using hal::EngineKind;

double microseconds(Duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

void check(Status status, const char* what) {
  if (!status) give_up(status.error(), std::string(what) + ": " + name(status.error()));
}

// ---- mapping ----

constexpr std::size_t mapped_chunks = 6;

struct Times {
  std::vector<Duration> all;
  void add(Instant begin) { all.push_back(hal::now() - begin); }
  [[nodiscard]] Duration median() {
    std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
    return all[all.size() / 2];
  }
  [[nodiscard]] Duration longest() const { return std::ranges::max(all); }
  [[nodiscard]] std::string text() { return "median " + readable(median()) + ", longest " + readable(longest()); }
};

/// Measures how long it takes to map and unmap chunks, and checks their contents. Throws Failed.
Answer map_and_unmap(hal::Device& device, Duration length) {
  const Bytes size = device.chunk_size();
  const auto chunks = must(device.create_chunks(mapped_chunks));
  std::vector<std::vector<std::byte>> contents;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    contents.push_back(pattern(size, static_cast<unsigned>(i)));
    check(copy_in(device, device.window(chunks[i]), contents.back()), "a copy to the device");
  }
  const auto range = must(device.reserve(size * mapped_chunks));
  Times maps, unmaps;
  std::vector<std::byte> found(size.count);
  std::size_t wrong = 0, rounds = 0;
  for (const Instant end = hal::now() + length / 2; hal::now() < end || rounds < 3; ++rounds) {
    for (std::size_t slot = 0; slot < mapped_chunks; ++slot) {
      const Instant begin = hal::now();
      check(device.map(range, slot, chunks[(slot + rounds) % mapped_chunks], Access::read_write), "mapping a chunk");
      maps.add(begin);
    }
    const std::size_t looked_at = rounds % mapped_chunks;
    check(copy_out(device, found, range.base + looked_at * size.count), "a copy from mapped memory");
    if (found != contents[(looked_at + rounds) % mapped_chunks]) ++wrong;
    for (std::size_t slot = 0; slot < mapped_chunks; ++slot) {
      const Instant begin = hal::now();
      check(device.unmap(range, slot), "unmapping a chunk");
      unmaps.add(begin);
    }
  }
  std::vector<Figure> figures{{"map, median", microseconds(maps.median()), "us"},
                              {"map, longest", microseconds(maps.longest()), "us"},
                              {"unmap, median", microseconds(unmaps.median()), "us"},
                              {"unmap, longest", microseconds(unmaps.longest()), "us"}};
  std::string state = std::to_string(rounds) + " times " + std::to_string(mapped_chunks) + " chunks of " +
                      to_string(size) + " mapped and unmapped: a chunk takes " + maps.text() + " to map, " +
                      unmaps.text() + " to unmap";
  if (wrong > 0)
    return failed(state + "; " + std::to_string(wrong) + " times the contents of another chunk were found",
                  "Swapping is not reliable with this driver: use a newer one", std::move(figures));
  return passed(state + "; contents were right each time", std::move(figures));
}

// ---- copies ----

/// Returns the number of chunks to copy in each direction. The chunks are together larger than the caches, but leave
/// memory free on a small board.
std::size_t copied_chunks(Bytes chunk) {
  constexpr std::uint64_t least = 2, wanted = std::uint64_t{32} << 20;
  return std::max(least, wanted / chunk.count);
}

/// Host memory that is page-locked during the lifetime of the object.
class HostMemory {
 public:
  HostMemory(hal::Device& device, Bytes size)
      : device_(device),
        memory_(must(hal::Mapping::anonymous(size, PROT_READ | PROT_WRITE, MAP_POPULATE, "memory to copy from"))) {
    must(device_.pin(memory_.base(), memory_.size()));
  }
  ~HostMemory() { static_cast<void>(device_.unpin(memory_.base())); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  [[nodiscard]] std::byte* at(std::size_t chunk) const { return memory_.base() + chunk * device_.chunk_size().count; }

 private:
  hal::Device& device_;
  hal::Mapping memory_;
};

class Copies {
 public:
  explicit Copies(hal::Device& device)
      : device_(device),
        size_(device.chunk_size()),
        count_(copied_chunks(size_)),
        chunks_(must(device.create_chunks(2 * count_))),
        from_(device, size_ * count_),
        to_(device, size_ * count_) {}

  /// Copies chunk by chunk in one direction until `end`. Returns the rate in bytes per second.
  double rate(EngineKind direction, Instant end) {
    const Instant begin = hal::now();
    std::uint64_t copies = 0;
    for (; hal::now() < end || copies < count_; ++copies) check(copy(direction, copies % count_), "a copy");
    const double seconds = std::chrono::duration<double>(hal::now() - begin).count();
    return static_cast<double>(copies * size_.count) / seconds;
  }

  struct Both {
    double in = 0, out = 0;
  };
  Both both(Duration length) {
    Both rates;
    const Instant end = hal::now() + length;
    Result<double> outcome;
    {
      const std::jthread out([&] { outcome = caught([&] { return rate(EngineKind::copy_out, end); }); });
      rates.in = rate(EngineKind::copy_in, end);
    }
    rates.out = must(outcome);
    return rates;
  }

  /// True if the contents are unchanged after a copy to the device and back.
  bool whole() {
    for (std::size_t i = 0; i < count_; ++i) {
      const auto contents = pattern(size_, static_cast<unsigned>(i));
      std::memcpy(from_.at(i), contents.data(), contents.size());
      check(copy(EngineKind::copy_in, i), "a copy to the device");
      std::vector<std::byte> found(size_.count);
      check(copy_out(device_, found, device_.window(chunks_[i])), "a copy from the device");
      if (found != contents) return false;
    }
    return true;
  }

 private:
  Status copy(EngineKind direction, std::size_t i) {
    const bool in = direction == EngineKind::copy_in;
    // Copies from the device and copies to the device use different chunks
    std::byte* const window = device_.window(chunks_[in ? i : count_ + i]);
    const auto work = [&]() noexcept {
      return in ? device_.copy(window, from_.at(i), size_) : device_.copy(to_.at(i), window, size_);
    };
    return device_.engine(direction).call(work).outcome;
  }

  hal::Device& device_;
  Bytes size_;
  std::size_t count_;
  std::vector<hal::Chunk> chunks_;
  HostMemory from_, to_;
};

/// Returns the swap cost in the board's file for a chunk of this size. The cost includes mapping. Returns null if the
/// file has no such cost.
const SwapCost* cost_of(const Board& board, Bytes chunk) {
  const auto found = std::ranges::find_if(
      board.swap_costs, [&](const SwapCost& each) { return each.store == StoreKind::pinned && each.chunk == chunk; });
  return found == board.swap_costs.end() ? nullptr : &*found;
}

/// Describes by how much a copy at `rate` bytes per second takes longer than `said`, the board's swap cost. Returns an
/// empty text if the copy does not take longer. `way`: the name of the direction of the copies.
std::string excess(const char* way, double rate, Bytes chunk, Duration said) {
  const Duration takes(static_cast<Duration::rep>(static_cast<double>(chunk.count) / rate * 1e9));
  if (takes <= said) return {};
  return std::string("; a chunk of ") + to_string(chunk) + " takes " + readable(takes) + " " + way +
         ", but the board's swap costs allow at most " + readable(said);
}

Answer judge(const Subject& subject, Bytes chunk, double in, double out, const Copies::Both& both) {
  std::vector<Figure> figures{{"in", in * 1e-6, "MB/s", true},
                              {"out", out * 1e-6, "MB/s", true},
                              {"in, during copies out", both.in * 1e-6, "MB/s", true},
                              {"out, during copies in", both.out * 1e-6, "MB/s", true}};
  std::string state = "copies of " + to_string(chunk) + " to and from page-locked memory: in " + rate_text(in) +
                      ", out " + rate_text(out) + ", both at once " + rate_text(both.in) + " and " +
                      rate_text(both.out);
  const SwapCost* cost = cost_of(subject.board, chunk);
  if (cost == nullptr)
    return passed(state + "; the board's file has no [[swap_cost]] of such chunks: `rtexec calibrate " +
                      subject.board.name + "` writes them",
                  std::move(figures));
  const std::string slow =
      excess("in", both.in, chunk, cost->in_per_chunk) + excess("out", both.out, chunk, cost->out_per_chunk);
  if (slow.empty()) return passed(state + ", within the board's swap costs", std::move(figures));
  return failed(
      state + slow,
      "Lock the clocks, end other programs, or write the costs of this machine: rtexec calibrate " + subject.board.name,
      std::move(figures));
}

/// Measures copies to the device, copies from the device, and both at once. Throws Failed.
Answer copy_each_way(hal::Device& device, const Subject& subject) {
  Copies copies(device);
  if (!copies.whole())
    return failed("data copied to the device came back with other contents",
                  "Its memory or its driver is broken: use a newer driver, or test the memory");
  const Duration length = subject.length / 4;
  const double in = copies.rate(EngineKind::copy_in, hal::now() + length);
  const double out = copies.rate(EngineKind::copy_out, hal::now() + length);
  return unless_emulated(subject, judge(subject, device.chunk_size(), in, out, copies.both(length)));
}

Answer answer_of(const Result<Answer>& answer) {
  return answer ? *answer : failed(answer.error(), "The device no longer works: see `dmesg` for its driver");
}

} // namespace

Answer measure_mapping(const Subject& subject, const executive::OpenDevice& open) {
  if (subject.board.memory_is_of_host())
    return skipped("the host device uses this computer's memory: there is no GPU whose mappings could be tested");
  return ask_device(subject, open, mapped_chunks, [&](hal::Device& device) {
    return answer_of(caught([&] { return map_and_unmap(device, subject.length); }));
  });
}

Answer measure_copies(const Subject& subject, const executive::OpenDevice& open) {
  return ask_device(subject, open, 2 * copied_chunks(chunk_of(subject.board)), [&](hal::Device& device) {
    return answer_of(caught([&] { return copy_each_way(device, subject); }));
  });
}

Answer device_mapping(const Subject& subject) { return measure_mapping(subject, device_of(subject.board)); }

Answer device_copies(const Subject& subject) { return measure_copies(subject, device_of(subject.board)); }

} // namespace rtexec::bringup

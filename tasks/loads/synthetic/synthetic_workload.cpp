#include "tasks/loads/synthetic/synthetic_workload.hpp"

#include "tasks/base/fingerprint.hpp"
#include "tasks/api/segments.hpp"

#include <cstring>

namespace rtexec::tasks {
namespace {

using Clock = std::chrono::steady_clock; // CLOCK_MONOTONIC

constexpr std::size_t page = 4096;

Instant end_of(Duration wcet) noexcept { return Clock::now() + wcet * 95 / 100; }

void spin_until(Instant end) noexcept {
  while (Clock::now() < end) {}
}

/// Returns the number of words that are visited in memory of this size: one word in each page, also in an incomplete
/// last page if it has space for a word.
std::size_t words_in(Bytes size) noexcept { return (size.count + page - sizeof(std::uint64_t)) / page; }

std::uint64_t read_word(const std::byte* at) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

void write_word(std::byte* at, std::uint64_t word) noexcept { std::memcpy(at, &word, sizeof word); }

} // namespace

SyntheticWorkload::SyntheticWorkload(const Task& task, DeviceKind kind)
    : wcet_(*task.wcet),
      swappable_(task.swappable.value_or(task.footprint.value_or(Bytes{0}))),
      fixed_(task.footprint.value_or(Bytes{0}) - swappable_),
      class_(task.memory_class),
      identity_(Fingerprint().add(task.name).value()),
      kind_(kind),
      times_(task.layers.value_or(SyntheticLayers()).of(wcet_.device)),
      live_(task.live) {
  for (std::size_t i = 0; task.layers && i < times_.size(); ++i) layers_.push_back("layer " + std::to_string(i));
  segment_ends_ = {times_.size()};
}

Result<std::unique_ptr<SyntheticWorkload>> SyntheticWorkload::make(const Task& task, DeviceKind kind) {
  std::unique_ptr<SyntheticWorkload> workload(new SyntheticWorkload(task, kind));
  if (workload->class_ != MemoryClass::constant) return workload;
  auto image = ConstantImage::pattern(workload->identity_, workload->swappable_);
  if (!image) return Unexpected(image.error());
  workload->image_ = std::move(*image);
  return workload;
}

MemoryDemand SyntheticWorkload::demand(bool cut) const {
  MemoryDemand demand;
  demand.fixed = fixed_;
  if (cut) demand.carry = live_;
  demand.add(class_, swappable_);
  return demand;
}

std::string SyntheticWorkload::fingerprint() const {
  Fingerprint fingerprint;
  for (const auto part : {wcet_.before, wcet_.device, wcet_.after})
    fingerprint.add(static_cast<std::uint64_t>(part.count()));
  for (std::size_t i = 0; i < layers_.size(); ++i) fingerprint.add(static_cast<std::uint64_t>(times_[i].count()));
  if (live_ > Bytes{0}) fingerprint.add(live_.count);
  return "synthetic-" + fingerprint.add(swappable_.count).add(static_cast<std::uint64_t>(class_)).text();
}

std::vector<LiveRange> SyntheticWorkload::live_ranges() const {
  if (layers_.size() < 2) return {};
  return {{.size = live_, .first = 0, .last = static_cast<std::uint32_t>(layers_.size() - 1)}};
}

std::vector<SyntheticWorkload::Part> SyntheticWorkload::parts() const {
  const std::size_t count = class_ == MemoryClass::constant ? times_.size() : 1, words = words_in(swappable_);
  std::vector<Part> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = words * i / count;
    parts.push_back({.begin = begin, .end = words * (i + 1) / count, .next = begin});
  }
  return parts;
}

std::vector<ConstantRange> SyntheticWorkload::constant_ranges() const {
  if (layers_.empty() || class_ != MemoryClass::constant) return {};
  std::vector<ConstantRange> ranges;
  for (const Part& part : parts()) ranges.push_back({Bytes{part.begin * page}, Bytes{part.end * page}});
  ranges.back().end = swappable_;
  return ranges;
}

Result<> SyntheticWorkload::cut(std::span<const std::uint32_t> after) {
  auto ends = segment_ends(after, times_.size());
  if (!ends) return Unexpected(ends.error());
  segment_ends_ = std::move(*ends);
  return {};
}

Result<> SyntheticWorkload::bind(Device& device, const Memory& memory) {
  memory_ = memory;
  if (kind_ == DeviceKind::cuda) {
    const auto gpu = hal::CudaDevice::of(device, "this synthetic task");
    if (!gpu) return Unexpected(gpu.error());
    gpu_ = *gpu;
    return {};
  }
  parts_ = parts();
  if (class_ == MemoryClass::state) visits_.assign(words_in(swappable_), 0);
  return {};
}

Status SyntheticWorkload::before(std::uint64_t) noexcept {
  spin_until(end_of(wcet_.before));
  return {};
}

Status SyntheticWorkload::execute() noexcept {
  for (std::uint32_t segment = 0; segment < segment_ends_.size(); ++segment)
    if (const Status executed = execute_segment(segment); !executed) return executed;
  return {};
}

Status SyntheticWorkload::execute_segment(std::uint32_t segment) noexcept {
  const std::size_t first = first_layer(segment_ends_, segment);
  for (std::size_t layer = first; layer < segment_ends_[segment]; ++layer) {
    const auto number = static_cast<std::uint32_t>(layer);
    if (observer_.begin) observer_.begin(observer_.self, number, Clock::now());
    const auto begins = layer == first ? std::optional(segment) : std::nullopt;
    if (const Status executed = execute_layer(layer, begins); !executed) return executed;
    if (observer_.end) observer_.end(observer_.self, number, Clock::now());
  }
  return {};
}

/// Executes one layer. If a segment begins with this layer, `begins` is the number of that segment; otherwise it is
/// nullopt.
Status SyntheticWorkload::execute_layer(std::size_t layer, std::optional<std::uint32_t> begins) noexcept {
  const Instant end = end_of(times_[layer]), half = end - times_[layer] / 2;
  ++executions_;
  if (begins && is_cut())
    if (const Status passed = pass_carry(*begins, half); !passed) return passed;
  const Status touched = gpu_ != nullptr ? write_chunks(half) : visit_words(layer, end);
  if (touched) spin_until(end);
  return touched;
}

/// Checks and rewrites the words of `carry` (live state across preemption) until `end`. Visits at least one word, so
/// that a complete loss is detected even on a busy machine.
Status SyntheticWorkload::pass_carry(std::uint32_t segment, Instant end) noexcept {
  if (gpu_ != nullptr) return write_chunks(memory_.carry, live_, end);
  const std::size_t left = segment == 0 ? 0 : carry_words_;
  const std::size_t words = words_in(live_);
  std::size_t word = 0;
  for (; word < words && (word == 0 || Clock::now() < end); ++word) {
    std::byte* const at = memory_.carry + word * page;
    if (word < left && read_word(at) != carried(word)) return Unexpected(Errc::corrupted);
    write_word(at, carried(word) + 1);
  }
  carry_words_ = word;
  ++passes_;
  return {};
}

/// Returns the value that word number `word` of `carry` must have when a segment begins.
std::uint64_t SyntheticWorkload::carried(std::size_t word) const noexcept {
  return identity_ + (static_cast<std::uint64_t>(word) << 32) + passes_;
}

Status SyntheticWorkload::visit_words(std::size_t layer, Instant end) noexcept {
  auto& [first, last, next] = parts_[parts_.size() == 1 ? 0 : layer];
  for (std::size_t visited = first; visited < last && Clock::now() < end; ++visited) {
    if (!visit(next)) return Unexpected(Errc::corrupted);
    if (++next == last) next = first;
  }
  return {};
}

bool SyntheticWorkload::visit(std::size_t word) noexcept {
  const std::size_t at = word * page;
  if (class_ == MemoryClass::constant) return read_word(memory_.constant + at) == read_word(image_.bytes().data() + at);
  if (class_ == MemoryClass::scratch) {
    write_word(memory_.scratch + at, identity_ + word);
    return true;
  }
  if (read_word(memory_.state + at) != contents(word)) return false;
  ++visits_[word];
  write_word(memory_.state + at, contents(word));
  return true;
}

/// Returns the value that word number `word` of the state must have between visits.
std::uint64_t SyntheticWorkload::contents(std::size_t word) const noexcept {
  return visits_[word] == 0 ? 0 : identity_ + (static_cast<std::uint64_t>(word) << 32) + visits_[word];
}

Status SyntheticWorkload::write_chunks(Instant end) noexcept {
  std::byte* const begin = class_ == MemoryClass::state     ? memory_.state
                           : class_ == MemoryClass::scratch ? memory_.scratch
                                                            : nullptr;
  if (begin == nullptr) return {};
  return write_chunks(begin, swappable_, end);
}

Status SyntheticWorkload::write_chunks(std::byte* begin, Bytes size, Instant end) noexcept {
  const auto stream = gpu_->stream(gpu_->compute_engine());
  for (std::uint64_t at = 0; at < size.count && Clock::now() < end; at += gpu_->chunk_size().count) {
    const auto written =
        gpu_->driver().set_bytes_async(reinterpret_cast<hal::cuda::DevicePointer>(begin + at), executions_, 1, stream);
    if (const auto status = gpu_->check(written); !status) return status;
  }
  return gpu_->wait();
}

Status SyntheticWorkload::after(std::uint64_t) noexcept {
  spin_until(end_of(wcet_.after));
  return {};
}

} // namespace rtexec::tasks

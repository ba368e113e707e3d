#include "tasks/synthetic/synthetic_workload.hpp"

#include "tasks/fingerprint.hpp"

#include <cstring>

namespace rtexec::tasks {
namespace {

using Clock = std::chrono::steady_clock; // CLOCK_MONOTONIC

constexpr std::size_t page = 4096;

Instant end_of(Duration wcet) noexcept { return Clock::now() + wcet * 95 / 100; }

void spin_until(Instant end) noexcept {
  while (Clock::now() < end) {}
}

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
      kind_(kind) {}

Result<std::unique_ptr<SyntheticWorkload>> SyntheticWorkload::make(const Task& task, DeviceKind kind) {
  std::unique_ptr<SyntheticWorkload> workload(new SyntheticWorkload(task, kind));
  if (workload->class_ != MemoryClass::constant) return workload;
  auto image = ConstantImage::pattern(workload->identity_, workload->swappable_);
  if (!image) return Unexpected(image.error());
  workload->image_ = std::move(*image);
  return workload;
}

MemoryDemand SyntheticWorkload::memory() const {
  MemoryDemand demand;
  demand.fixed = fixed_;
  demand.add(class_, swappable_);
  return demand;
}

std::string SyntheticWorkload::fingerprint() const {
  Fingerprint fingerprint;
  for (const auto part : {wcet_.before, wcet_.device, wcet_.after})
    fingerprint.add(static_cast<std::uint64_t>(part.count()));
  return "synthetic-" + fingerprint.add(swappable_.count).add(static_cast<std::uint64_t>(class_)).text();
}

Result<> SyntheticWorkload::bind(Device& device, const Memory& memory) {
  memory_ = memory;
  if (kind_ == DeviceKind::cuda) {
    const auto gpu = hal::CudaDevice::of(device, "this synthetic task");
    if (!gpu) return Unexpected(gpu.error());
    gpu_ = *gpu;
    return {};
  }
  words_ = (swappable_.count + page - sizeof(std::uint64_t)) / page;
  if (class_ == MemoryClass::state) visits_.assign(words_, 0);
  return {};
}

Status SyntheticWorkload::before(std::uint64_t) noexcept {
  spin_until(end_of(wcet_.before));
  return {};
}

Status SyntheticWorkload::execute() noexcept {
  const auto end = end_of(wcet_.device);
  const Status touched = gpu_ != nullptr ? write_chunks(end - wcet_.device / 2) : visit_words(end);
  if (touched) spin_until(end);
  return touched;
}

Status SyntheticWorkload::visit_words(Instant end) noexcept {
  for (std::size_t visited = 0; visited < words_ && Clock::now() < end; ++visited) {
    if (!visit(next_)) return Unexpected(Errc::corrupted);
    next_ = (next_ + 1) % words_;
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

/// What `word` of the state holds between visits.
std::uint64_t SyntheticWorkload::contents(std::size_t word) const noexcept {
  return visits_[word] == 0 ? 0 : identity_ + (static_cast<std::uint64_t>(word) << 32) + visits_[word];
}

Status SyntheticWorkload::write_chunks(Instant end) noexcept {
  std::byte* const begin = class_ == MemoryClass::state     ? memory_.state
                           : class_ == MemoryClass::scratch ? memory_.scratch
                                                            : nullptr;
  if (begin == nullptr) return {};
  ++executions_;
  const auto stream = gpu_->stream(gpu_->compute_engine());
  for (std::uint64_t at = 0; at < swappable_.count && Clock::now() < end; at += gpu_->chunk_size().count) {
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

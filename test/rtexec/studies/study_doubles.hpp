// A simulated machine for studies: a virtual clock, cores whose co-runners share a memory, and counters that observe
// them.
#pragma once

#include "rtexec/studies/calibration/corunner.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace rtexec::test {

constexpr Bandwidth MB(std::uint64_t value) { return {value * 1'000'000}; }

/// Each core alone reaches the bandwidth `core`. All together reach `saturation`, evenly shared.
class SharedMemory {
  struct Running final : study::Corunner {
    Running(SharedMemory& owner, unsigned on, tasks::GeneratorHooks to_call)
        : memory(owner), number(on), hooks(std::move(to_call)) {
      memory.running_.push_back(this);
      memory.log.push_back("start " + std::to_string(number));
    }
    ~Running() override {
      std::erase(memory.running_, this);
      memory.log.push_back("end " + std::to_string(number));
      if (hooks.end) hooks.end();
    }
    Bytes moved() const override { return bytes; }

    SharedMemory& memory;
    unsigned number;
    tasks::GeneratorHooks hooks;
    Bytes bytes;
  };

 public:
  Bandwidth core = MB(4000), saturation = MB(9000);
  std::vector<std::string> log; // "start 1", "end 1": co-runners
  unsigned broken = UINT32_MAX; // the core on which no co-runner starts
  std::set<unsigned> busy;      // cores on which co-runners move no data

  [[nodiscard]] Instant now() const { return now_; }
  void advance(Duration length) {
    const Bytes each = moved_in(length, running_.size());
    for (auto* one : running_)
      if (!busy.contains(one->number)) one->bytes += each;
    now_ += length;
  }
  /// Returns the bytes moved by the co-runner that currently runs on the core.
  [[nodiscard]] Bytes moved_on(unsigned number) const {
    const auto found = std::ranges::find(running_, number, &Running::number);
    return found == running_.end() ? Bytes{} : (*found)->bytes;
  }

  study::StartCorunner corun() {
    return [this](unsigned number, tasks::GeneratorHooks hooks) -> Result<std::unique_ptr<study::Corunner>> {
      if (number == broken) return fail(Errc::refused, "core " + std::to_string(number) + ": no generator");
      if (hooks.begin)
        if (const auto begun = hooks.begin(); !begun) return Unexpected(begun.error());
      return std::make_unique<Running>(*this, number, std::move(hooks));
    };
  }
  [[nodiscard]] std::size_t running() const { return running_.size(); }

 private:
  [[nodiscard]] Bytes moved_in(Duration length, std::size_t count) const {
    if (count == 0) return {};
    const std::uint64_t share = std::min(core.bytes_per_second, saturation.bytes_per_second / count);
    return {static_cast<std::uint64_t>(static_cast<double>(share) * std::chrono::duration<double>(length).count())};
  }

  Instant now_{std::chrono::seconds(1)};
  std::vector<Running*> running_;
};

} // namespace rtexec::test

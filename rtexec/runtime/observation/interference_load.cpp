#include "rtexec/runtime/observation/interference_load.hpp"

#include "tasks/loads/traffic/caches.hpp"

namespace rtexec::executive {
namespace {

constexpr Bytes swept{2 << 20}; // the size of most cores' private caches

} // namespace

Result<InterferenceLoad> InterferenceLoad::start(const std::set<unsigned>& cores, hal::CpusetPartition* partition) {
  InterferenceLoad all;
  const Bytes line = tasks::cache_facts().line;
  for (const unsigned core : cores) {
    auto generator = tasks::LineGenerator::make(TrafficPattern::write, swept, line);
    if (!generator) return Unexpected(generator.error());
    auto thread = tasks::GeneratorThread::start(std::move(*generator),
                                                hal::giving_way("beside/" + std::to_string(core), core, partition));
    if (!thread) return Unexpected(thread.error());
    all.threads_.push_back(std::move(*thread));
  }
  return all;
}

} // namespace rtexec::executive

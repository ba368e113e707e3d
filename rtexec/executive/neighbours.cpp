#include "rtexec/executive/neighbours.hpp"

#include "tasks/traffic/caches.hpp"

namespace rtexec::executive {
namespace {

constexpr Bytes swept{2 << 20}; // the own caches of most cores

} // namespace

Result<Neighbours> Neighbours::start(const std::set<unsigned>& cores, hal::CpusetPartition* partition) {
  Neighbours all;
  const Bytes line = tasks::cache_facts().line;
  for (const unsigned core : cores) {
    auto generator = tasks::LineGenerator::make(TrafficPattern::write, swept, line);
    if (!generator) return Unexpected(generator.error());
    hal::ThreadSettings settings;
    settings.name = "beside/" + std::to_string(core);
    settings.core = core;
    settings.when_idle = true;
    settings.partition = partition;
    auto thread = tasks::GeneratorThread::start(std::move(*generator), settings);
    if (!thread) return Unexpected(thread.error());
    all.threads_.push_back(std::move(*thread));
  }
  return all;
}

} // namespace rtexec::executive

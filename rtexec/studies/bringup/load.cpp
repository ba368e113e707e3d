#include "rtexec/studies/bringup/load.hpp"

#include "config/base/files.hpp"
#include "config/base/output_path.hpp"
#include "tasks/loads/traffic/caches.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fcntl.h>
#include <spawn.h>
#include <stop_token>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace rtexec::bringup {
namespace {

using namespace std::chrono_literals;

/// Writes a file as a load on the disk. Ignores errors, since the file is not needed.
void write_file(const std::filesystem::path& file) {
  static constexpr std::array<char, 64 << 10> content{};
  const auto opened = config::open_output(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!opened) return;
  if (config::write_all(opened->get(), std::as_bytes(std::span(content))) == 0)
    static_cast<void>(::fdatasync(opened->get()));
  ::unlink(file.c_str());
}

void start_process() {
  static char program[] = "/bin/true";
  char* arguments[] = {program, nullptr};
  char* environment[] = {nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, program, nullptr, nullptr, arguments, environment) == 0) ::waitpid(child, nullptr, 0);
}

void be_active(const std::stop_token& stop, const std::filesystem::path& file) {
  while (!stop.stop_requested()) {
    write_file(file);
    start_process();
    std::this_thread::sleep_for(2ms);
  }
}

} // namespace

Result<Load> Load::start(std::span<const unsigned> cores, const std::filesystem::path& folder,
                         std::span<const unsigned> has, hal::CpusetPartition* partition) {
  const tasks::CacheFacts caches = tasks::cache_facts();
  const Bytes buffer = std::min(tasks::sweep_size(caches), Bytes{32 << 20});
  Load load;
  for (const unsigned core : cores) {
    auto generator = tasks::LineGenerator::make(TrafficPattern::write, buffer, caches.line);
    if (!generator) return Unexpected(generator.error());
    hal::ThreadSettings settings{.name = "load-" + std::to_string(core), .core = core, .reservation = {}};
    if (std::ranges::find(has, core) != has.end()) settings.partition = partition;
    auto thread = tasks::GeneratorThread::start(std::move(*generator), settings);
    if (!thread) return Unexpected(thread.error());
    load.sweeps_.push_back(std::move(*thread));
  }
  load.activity_ = std::jthread(be_active, folder / "load");
  return load;
}

} // namespace rtexec::bringup

#include "hal/engine_thread.hpp"

#include <algorithm>

namespace rtexec::hal {

Result<std::unique_ptr<EngineThread>> EngineThread::start(const std::string& name, Bytes stack) {
  std::unique_ptr<EngineThread> engine(new EngineThread);
  ThreadSettings settings;
  settings.name = name;
  settings.stack = stack;
  auto thread = Thread::start(settings, [&self = *engine] { self.loop(); });
  if (!thread) return Unexpected(thread.error());
  engine->thread_ = std::move(*thread);
  return engine;
}

EngineThread::~EngineThread() {
  ending_.store(true, std::memory_order_release);
  changed_.raise();
}

Status EngineThread::submit(const Work& work) noexcept {
  if (work.run == nullptr || work.done == nullptr) return Unexpected(Errc::bad_input);
  const std::size_t position = submitted_.load(std::memory_order_relaxed);
  if (position - taken_.load(std::memory_order_acquire) == capacity) return Unexpected(Errc::out_of_memory);
  queue_[position % capacity] = work;
  submitted_.store(position + 1, std::memory_order_release);
  changed_.raise();
  return {};
}

void EngineThread::loop() noexcept {
  std::size_t begun = 0; // the `begin` functions of all pieces before this position were called
  for (std::size_t position = 0;;) {
    // The order of these reads matters. If `ending` is true, `submitted` includes all work submitted before the end. If
    // anything changes after `changed_` was read, the wait below returns at once.
    const std::uint32_t seen = changed_.value();
    const bool ending = ending_.load(std::memory_order_acquire);
    const std::size_t submitted = submitted_.load(std::memory_order_acquire);
    if (position == submitted) {
      if (ending) return;
      changed_.wait(seen);
      continue;
    }
    for (; !ending && begun < std::min(position + 2, submitted); ++begun)
      if (const Work& next = queue_[begun % capacity]; next.begin != nullptr) next.begin(next.context);
    const Work work = queue_[position % capacity];
    const bool runs = !ending || (work.begin != nullptr && position < begun);
    taken_.store(++position, std::memory_order_release);
    const Instant begin = now();
    const Status outcome = runs ? work.run(work.context) : Status(Unexpected(Errc::cancelled));
    work.done(work.context, outcome, begin, now());
  }
}

Result<> EngineThread::configure(const ThreadSettings& settings) {
  Result<> outcome;
  if (!call([&]() noexcept { return outcome = apply(settings), Status(); }).outcome)
    return fail(Errc::out_of_memory,
                "The engine \"" + settings.name + "\" has no room to take settings: configure it before it works.");
  return outcome;
}

} // namespace rtexec::hal

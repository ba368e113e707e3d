#include "tasks/loads/traffic/generator_thread.hpp"

#include <atomic>
#include <utility>

namespace rtexec::tasks {

struct GeneratorThread::State {
  std::unique_ptr<Generator> generator;
  std::optional<Bandwidth> rate;
  GeneratorHooks hooks;

  std::atomic<bool> stop{false};
  hal::Signal stopped; // raised when `stop` is set
  hal::Signal begun;   // raised once `refused` is set
  Result<> refused;    // the result of hooks.begin
  Instant start;
  std::atomic<std::uint64_t> moved{0}, dropped{0};
  Traffic traffic; // the complete result, valid after the thread has ended
  std::atomic<bool> ended{false};
  hal::Thread thread; // declared last, because the thread must end before the other members are destroyed

  void run() {
    if (hooks.begin) refused = hooks.begin();
    start = hal::now();
    const bool runs = refused.has_value();
    begun.raise();
    if (!runs) return;
    Course course;
    course.rate = rate;
    course.stop = &stop;
    course.moved = &moved;
    course.dropped = &dropped;
    traffic = run_course(*generator, course, {[](void*) noexcept { return hal::now(); }, &State::sleep_until, this});
    traffic.elapsed = hal::now() - start; // measured in the same way as by so_far()
    if (hooks.end) hooks.end();
    ended.store(true, std::memory_order_release);
  }

  static void sleep_until(void* self, Instant when) noexcept {
    auto& state = *static_cast<State*>(self);
    const auto seen = state.stopped.value();
    if (!state.stop.load(std::memory_order_relaxed)) (void)state.stopped.wait_until(seen, when);
  }

  void end() {
    stop.store(true, std::memory_order_relaxed);
    stopped.raise();
    thread.join();
  }

  ~State() { end(); }
};

Result<GeneratorThread> GeneratorThread::start(std::unique_ptr<Generator> generator,
                                               const hal::ThreadSettings& settings, std::optional<Bandwidth> rate,
                                               GeneratorHooks hooks) {
  if (rate == Bandwidth{0})
    return fail(Errc::bad_input, "a generator at 0B/s moves nothing: ask for more, or start none");
  auto state = std::make_unique<State>();
  state->generator = std::move(generator);
  state->rate = rate;
  state->hooks = std::move(hooks);
  const auto seen = state->begun.value();
  auto thread = hal::Thread::start(settings, [self = state.get()] { self->run(); });
  if (!thread) return Unexpected(thread.error());
  state->thread = std::move(*thread);
  while (state->begun.value() == seen) state->begun.wait(seen);
  if (!state->refused) return Unexpected(state->refused.error());
  return GeneratorThread(std::move(state));
}

GeneratorThread::GeneratorThread(std::unique_ptr<State> state) : state_(std::move(state)) {}
GeneratorThread::~GeneratorThread() = default;
GeneratorThread::GeneratorThread(GeneratorThread&&) noexcept = default;
GeneratorThread& GeneratorThread::operator=(GeneratorThread&&) noexcept = default;

Traffic GeneratorThread::so_far() const noexcept {
  if (state_->ended.load(std::memory_order_acquire)) return state_->traffic;
  Traffic traffic;
  traffic.moved = {state_->moved.load(std::memory_order_relaxed)};
  traffic.dropped = {state_->dropped.load(std::memory_order_relaxed)};
  traffic.elapsed = hal::now() - state_->start;
  return traffic;
}

Traffic GeneratorThread::stop() {
  state_->end();
  return state_->traffic;
}

int GeneratorThread::kernel_id() const { return state_->thread.kernel_id(); }

} // namespace rtexec::tasks

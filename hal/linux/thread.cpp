#include "hal/thread.hpp"

#include "hal/linux/advice.hpp"
#include "hal/machine_files.hpp"
#include "hal/resources.hpp"
#include "hal/system.hpp"

#include <array>
#include <cerrno>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rtexec::hal {
namespace {

constexpr std::uint32_t policy_deadline = 6; // SCHED_DEADLINE; glibc 2.36 has no name for it
/// SCHED_FLAG_RESET_ON_FORK. Without this flag a SCHED_DEADLINE thread cannot create threads, but drivers create
/// threads inside their calls.
constexpr std::uint64_t begins_ordinary_threads = 1;

std::string policy_name(std::uint32_t policy) {
  switch (policy) {
  case SCHED_OTHER: return "SCHED_OTHER";
  case SCHED_FIFO: return "SCHED_FIFO";
  case SCHED_IDLE: return "SCHED_IDLE";
  case policy_deadline: return "SCHED_DEADLINE";
  default: return "policy " + std::to_string(policy);
  }
}

std::string describe(const SchedulingAttributes& a) {
  std::string text = policy_name(a.policy);
  if (a.policy == SCHED_FIFO) text += " " + std::to_string(a.priority);
  if (a.policy == policy_deadline) {
    const auto time = [](std::uint64_t ns) { return to_string(Duration(static_cast<std::int64_t>(ns))); };
    text += " " + time(a.runtime_ns) + " in " + time(a.deadline_ns) + " every " + time(a.period_ns);
  }
  return text;
}

/// True if the attributes that matter for the scheduling class are equal. Since Linux 6.12 the runtime of a SCHED_OTHER
/// thread is its time slice, which does not matter.
bool same_class(const SchedulingAttributes& a, const SchedulingAttributes& b) {
  if (a.policy != b.policy || a.priority != b.priority) return false;
  return a.policy != policy_deadline ||
         (a.runtime_ns == b.runtime_ns && a.deadline_ns == b.deadline_ns && a.period_ns == b.period_ns);
}

std::string of_thread(const ThreadSettings& settings) { return " for thread \"" + settings.name + "\""; }

/// Returns the cores on which the thread may run; empty: any core.
std::vector<unsigned> cores_of(const ThreadSettings& s) { return s.core ? std::vector{*s.core} : s.among; }

Result<> check(const ThreadSettings& s) {
  const auto bad = [&](std::string what) { return fail(Errc::bad_input, std::move(what) + of_thread(s) + "."); };
  if (s.fifo_priority < 0 || s.fifo_priority > 99) {
    return bad("SCHED_FIFO priority " + std::to_string(s.fifo_priority) + " is not within 1 to 99 (0: none)");
  }
  if (s.fifo_priority != 0 && s.reservation)
    return bad("Both a SCHED_FIFO priority and a SCHED_DEADLINE reservation are given");
  if (s.when_idle && (s.fifo_priority != 0 || s.reservation))
    return bad("Both SCHED_IDLE and a real-time class are given");
  if (s.partition != nullptr && !s.core) return bad("A partition is given without a core");
  for (const unsigned core : cores_of(s))
    if (core >= CPU_SETSIZE)
      return bad("Core " + std::to_string(core) + " is not below " + std::to_string(CPU_SETSIZE));
  if (const auto& r = s.reservation;
      r && (r->runtime < Duration(1024) || r->runtime > r->deadline || r->deadline > r->period)) {
    return bad("The reservation of " + to_string(r->runtime) + " in " + to_string(r->deadline) + " every " +
               to_string(r->period) + " does not keep 1024ns <= runtime <= deadline <= period");
  }
  return {};
}

Result<SchedulingAttributes> current_class(const ThreadSettings& s) {
  SchedulingAttributes attributes;
  if (sys().sched_getattr(0, &attributes, sizeof attributes, 0) != 0) {
    return call_failed("reading the scheduling class back" + of_thread(s), errno);
  }
  return attributes;
}

/// Makes the calling thread SCHED_OTHER before other changes, because the kernel refuses to pin a SCHED_DEADLINE thread
/// or to move it to a partition. A thread that is to become SCHED_DEADLINE gets this class after it is pinned. Other
/// threads get their class before they are pinned: a SCHED_OTHER thread would never run again on a core that a
/// SCHED_FIFO thread occupies.
Result<> leave_real_time(const ThreadSettings& s) {
  const auto current = current_class(s);
  if (!current) return Unexpected(current.error());
  if (current->policy == SCHED_OTHER) return {};
  const SchedulingAttributes ordinary;
  if (sys().sched_setattr(0, &ordinary, 0) != 0) return call_failed("setting SCHED_OTHER" + of_thread(s), errno);
  return {};
}

Result<> pin(const ThreadSettings& s) {
  const std::vector<unsigned> cores = cores_of(s);
  if (cores.empty()) return {};
  if (s.partition != nullptr) {
    if (auto joined = s.partition->add(::gettid(), *s.core); !joined) return joined;
  }
  const std::string what = "pinning to core " + core_list(cores) + of_thread(s);
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const unsigned core : cores) CPU_SET(core, &wanted);
  if (sys().sched_setaffinity(0, sizeof wanted, &wanted) != 0) return call_failed(what, errno, affinity_advice());
  cpu_set_t found;
  CPU_ZERO(&found);
  if (sys().sched_getaffinity(0, sizeof found, &found) != 0) return call_failed("reading back " + what, errno);
  if (CPU_EQUAL(&wanted, &found) == 0)
    return fail(Errc::refused, what + ": the kernel reports other cores.\n" + affinity_advice());
  return {};
}

SchedulingAttributes wanted_class(const ThreadSettings& s) {
  SchedulingAttributes wanted;
  if (s.fifo_priority != 0) {
    wanted.policy = SCHED_FIFO;
    wanted.priority = static_cast<std::uint32_t>(s.fifo_priority);
  }
  if (s.when_idle) wanted.policy = SCHED_IDLE;
  if (s.reservation) {
    wanted.policy = policy_deadline;
    wanted.flags = begins_ordinary_threads;
    wanted.runtime_ns = static_cast<std::uint64_t>(s.reservation->runtime.count());
    wanted.deadline_ns = static_cast<std::uint64_t>(s.reservation->deadline.count());
    wanted.period_ns = static_cast<std::uint64_t>(s.reservation->period.count());
  }
  return wanted;
}

Result<> schedule(const ThreadSettings& s) {
  const SchedulingAttributes wanted = wanted_class(s);
  if (wanted.policy != SCHED_OTHER && sys().sched_setattr(0, &wanted, 0) != 0) {
    const int error = errno;
    return call_failed("setting " + describe(wanted) + of_thread(s), error,
                       s.when_idle     ? ""
                       : s.reservation ? deadline_advice(error, s.core.has_value(), s.partition != nullptr)
                                       : fifo_advice(error, s.fifo_priority));
  }
  const auto found = current_class(s);
  if (!found) return Unexpected(found.error());
  if (!same_class(*found, wanted)) {
    return fail(
        Errc::refused,
        describe(wanted) + " was accepted" + of_thread(s) + " but the kernel reports " + describe(*found) +
            ".\nSomething between this program and the kernel (a sandbox, a preloaded library) drops sched_setattr.");
  }
  return {};
}

Result<> rename(const ThreadSettings& s) {
  const std::string wanted = s.name.substr(0, 15);
  std::array<char, 16> found{};
  if (sys().set_thread_name(wanted.c_str()) != 0) return call_failed("naming" + of_thread(s), errno);
  if (sys().get_thread_name(found.data()) != 0) return call_failed("reading the name back" + of_thread(s), errno);
  if (wanted != found.data())
    return fail(Errc::refused,
                "The kernel reports the name \"" + std::string(found.data()) + "\"" + of_thread(s) + ".");
  return {};
}

/// Returns a stack whose pages are all resident. Below the stack is a guard page, which an overflow hits.
Result<Mapping> prefaulted_stack(Bytes size) {
  const Bytes page = page_size();
  auto stack = Mapping::anonymous(round_up(size, page) + page, PROT_READ | PROT_WRITE, MAP_STACK | MAP_POPULATE,
                                  "a thread's stack");
  if (stack && sys().mprotect(stack->base(), page.count, PROT_NONE) != 0)
    return call_failed("protecting a stack's guard page", errno);
  return stack;
}

} // namespace

ThreadSettings giving_way(std::string name, unsigned core, CpusetPartition* partition) {
  ThreadSettings settings;
  settings.name = std::move(name);
  settings.core = core;
  settings.when_idle = true;
  settings.partition = partition;
  return settings;
}

Result<> apply(const ThreadSettings& settings) {
  const bool pinned_first = settings.reservation.has_value();
  for (const auto step :
       {check, rename, leave_real_time, pinned_first ? pin : schedule, pinned_first ? schedule : pin}) {
    if (auto done = step(settings); !done) return done;
  }
  return {};
}

struct Thread::State {
  ThreadSettings settings;
  std::function<void()> body;
  Mapping stack;
  pthread_t handle{};
  int kernel_id = 0;
  Result<> applied;
  Signal started;

  static void* entry(void* argument) {
    State& state = *static_cast<State*>(argument);
    state.kernel_id = ::gettid();
    state.applied = apply(state.settings);
    const bool runs = state.applied.has_value();
    state.started.raise();
    if (runs) state.body();
    return nullptr;
  }

  Result<> create() {
    const Bytes page = page_size();
    pthread_attr_t attributes;
    if (const int error = ::pthread_attr_init(&attributes); error != 0) return call_failed("preparing a thread", error);
    const int stacked =
        ::pthread_attr_setstack(&attributes, stack.base() + page.count, stack.size().count - page.count);
    const int created = stacked != 0                                                  ? stacked
                        : sys().thread_create(&handle, &attributes, entry, this) != 0 ? errno
                                                                                      : 0;
    ::pthread_attr_destroy(&attributes);
    if (created == 0) return {};
    return call_failed("starting thread \"" + settings.name + "\"", created,
                       "Needs a stack of at least " + to_string(Bytes{static_cast<std::uint64_t>(PTHREAD_STACK_MIN)}) +
                           ", and room below `ulimit -u` and the pids cgroup.");
  }
};

Thread::Thread() = default;
Thread::Thread(Thread&&) noexcept = default;
Thread::~Thread() { join(); }

Thread& Thread::operator=(Thread&& other) noexcept {
  join();
  state_ = std::move(other.state_);
  return *this;
}

Result<Thread> Thread::start(const ThreadSettings& settings, std::function<void()> body) {
  auto stack = prefaulted_stack(settings.stack);
  if (!stack) return Unexpected(stack.error());
  auto state = std::make_unique<State>();
  state->settings = settings;
  state->body = std::move(body);
  state->stack = std::move(*stack);
  if (auto created = state->create(); !created) return Unexpected(created.error());
  Thread thread;
  thread.state_ = std::move(state);
  State& started = *thread.state_;
  while (started.started.value() == 0) started.started.wait(0);
  if (!started.applied) return Unexpected(started.applied.error());
  return thread;
}

void Thread::join() {
  if (!state_) return;
  ::pthread_join(state_->handle, nullptr); // fails only for a thread that joins itself
  state_.reset();
}

int Thread::kernel_id() const { return state_ ? state_->kernel_id : 0; }

} // namespace rtexec::hal

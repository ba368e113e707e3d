// swap-bench --ballast SIZE COMMAND...: runs a command on a GPU with only SIZE of free memory. This process holds the
// rest while the command runs.
#pragma once

#include <rtexec/units.hpp>
#include "hal/cuda/driver.hpp"
#include "test/bench/swap_common.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rtexec::bench {

/// Allocates device memory until `left` is free, and holds it until this process ends.
class Ballast {
 public:
  Result<> take(Bytes left) {
    const auto driver = hal::cuda::open_driver();
    if (!driver) return Unexpected(driver.error());
    driver_ = *driver;
    hal::cuda::Ordinal device = 0;
    hal::cuda::Context context = nullptr;
    if (const auto done = checked(driver_->init(0), "starting the driver"); !done) return done;
    if (const auto done = checked(driver_->device_get(&device, 0), "finding the GPU"); !done) return done;
    if (const auto done = checked(driver_->context_retain(&context, device), "making a context"); !done) return done;
    if (const auto done = checked(driver_->context_set_current(context), "entering the context"); !done) return done;
    auto free = free_memory();
    if (!free) return Unexpected(free.error());
    if (*free < left) return fail(Errc::refused, "only " + readable(*free) + " are free on the GPU");
    for (Bytes piece = *free - left; free && piece >= smallest && *free >= left + smallest; free = free_memory()) {
      piece = std::min(piece, *free - left);
      hal::cuda::DevicePointer memory = 0;
      const auto code = driver_->allocate(&memory, piece.count);
      if (code == hal::cuda::Code::out_of_memory) piece = {piece.count / 2};
      else if (const auto done = checked(code, "taking " + readable(piece)); !done) return done;
    }
    if (!free) return Unexpected(free.error());
    std::fprintf(stderr, "ballast: %s of the GPU are free\n", readable(*free).c_str());
    return {};
  }

 private:
  static constexpr Bytes smallest = MiB * 2;

  Result<> checked(hal::cuda::Code code, const std::string& what) const {
    return code == hal::cuda::Code::success ? Result<>()
                                            : fail(Errc::refused, what + " failed: " + describe(*driver_, code));
  }
  Result<Bytes> free_memory() const {
    std::size_t free = 0, total = 0;
    if (const auto done = checked(driver_->memory_info(&free, &total), "asking for free memory"); !done)
      return Unexpected(done.error());
    return Bytes{free};
  }

  const hal::cuda::Driver* driver_ = nullptr;
};

inline volatile std::sig_atomic_t ballast_child = 0;

/// Forwards a signal to the command, unless the terminal sent it: the command gets that one itself.
inline void pass_on(int signal, siginfo_t* info, void*) {
  if (info->si_code <= 0 && ballast_child > 0) (void)kill(ballast_child, signal);
}

inline void pass_signals_on() {
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  (void)std::signal(SIGPIPE, SIG_IGN); // for a command that a signal ended before it began
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
    (void)sigaction(signal, &action, nullptr);
}

/// Returns the exit code of the command, or 128 + the signal that ended it, or 5 if the ballast could not be allocated.
inline int run_with_ballast(const char* size, char** command) {
  const auto left = parse_bytes(size);
  if (!left) return std::fprintf(stderr, "--ballast: %s\n", left.error().what.c_str()), 2;
  if (!command[0]) return std::fprintf(stderr, "usage: swap-bench --ballast SIZE COMMAND...\n"), 2;
  int go[2];
  if (pipe(go) != 0) return std::perror("pipe"), 5;
  const pid_t child = fork(); // before CUDA, which does not survive a fork
  if (child < 0) return std::perror("fork"), 5;
  if (child == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    char order = 0;
    (void)close(go[1]);
    if (read(go[0], &order, 1) != 1) _exit(5);
    (void)close(go[0]);
    execvp(command[0], command);
    std::fprintf(stderr, "%s: %s\n", command[0], std::strerror(errno));
    _exit(127);
  }
  (void)close(go[0]);
  ballast_child = child;
  pass_signals_on();
  Ballast ballast;
  const auto taken = ballast.take(*left);
  if (!taken) std::fprintf(stderr, "ballast: %s\n", taken.error().what.c_str());
  else (void)!write(go[1], "g", 1);
  (void)close(go[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return std::perror("waitpid"), 5;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace rtexec::bench

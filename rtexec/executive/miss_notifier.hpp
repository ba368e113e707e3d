// Calls a user's function for each miss, on a thread of its own without real-time priority.
#pragma once

#include <rtexec/report.hpp>
#include "hal/thread.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace rtexec::executive {

class MissNotifier {
 public:
  using Next = std::function<std::optional<Miss>()>;
  /// `next` gives the next miss, if there is any, and is asked again whenever `missed` is raised, which outlives this.
  [[nodiscard]] static Result<std::unique_ptr<MissNotifier>> start(std::function<void(const Miss&)> callback,
                                                                   hal::Signal& missed, Next next);
  ~MissNotifier() { end(); }
  MissNotifier(const MissNotifier&) = delete;
  MissNotifier& operator=(const MissNotifier&) = delete;

  /// Once every miss that there is was told.
  void end();
  /// What the callback threw; it is not called again. Empty: nothing. Any thread.
  [[nodiscard]] std::string failure() const { return failed_.load() ? failure_ : ""; }
  /// Misses since.
  [[nodiscard]] std::uint64_t uncalled() const noexcept { return uncalled_.load(); }

 private:
  MissNotifier(std::function<void(const Miss&)> callback, hal::Signal& missed, Next next);
  void run();
  void notify(const Miss& miss);

  std::function<void(const Miss&)> callback_;
  hal::Signal& missed_;
  Next next_;
  std::string failure_; // written before failed_
  std::atomic<bool> failed_{false}, ending_{false};
  std::atomic<std::uint64_t> uncalled_{0};
  hal::Thread thread_;
};

} // namespace rtexec::executive

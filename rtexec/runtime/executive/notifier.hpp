// Calls a user's functions for misses and parts above their WCETs, on a thread of its own without real-time priority.
#pragma once

#include <rtexec/report.hpp>
#include "hal/thread.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace rtexec::executive {

using Notice = std::variant<Miss, WcetExcess>;

class Notifier {
 public:
  using Call = std::function<void(const Notice&)>;
  using Next = std::function<std::optional<Notice>()>;
  /// `next` returns the next notice, if there is any. It is called again whenever `noticed` is raised, which outlives
  /// this.
  [[nodiscard]] static Result<std::unique_ptr<Notifier>> start(Call call, hal::Signal& noticed, Next next);
  ~Notifier() { end(); }
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  /// Ends the thread, after it has reported all queued notices.
  void end();
  /// Returns the text of the exception that the call threw, after which it is not called again. Empty: none. Any
  /// thread.
  [[nodiscard]] std::string failure() const { return failed_.load() ? failure_ : ""; }
  /// Returns the number of notices since that exception, which were not reported.
  [[nodiscard]] std::uint64_t uncalled() const noexcept { return uncalled_.load(); }

 private:
  Notifier(Call call, hal::Signal& noticed, Next next);
  void run();
  void notify(const Notice& notice);

  Call call_;
  hal::Signal& noticed_;
  Next next_;
  std::string failure_; // written before failed_
  std::atomic<bool> failed_{false}, ending_{false};
  std::atomic<std::uint64_t> uncalled_{0};
  hal::Thread thread_;
};

} // namespace rtexec::executive

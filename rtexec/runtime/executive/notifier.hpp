// Calls a user's functions for notices (deadline misses, and parts that exceeded their WCETs), on a thread of its own
// without real-time priority.
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
  /// `next` returns the next notice, or nullopt if there is no notice. The notifier calls `next` whenever `noticed` is
  /// raised. `noticed` must outlive the notifier.
  [[nodiscard]] static Result<std::unique_ptr<Notifier>> start(Call call, hal::Signal& noticed, Next next);
  ~Notifier() { end(); }
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  /// Ends the thread, after it has reported all queued notices.
  void end();
  /// Returns the text of the exception that a user's function threw, or an empty text if no function threw. No function
  /// is called after an exception. Any thread.
  [[nodiscard]] std::string failure() const { return failed_.load() ? failure_ : ""; }
  /// Returns the number of notices after that exception, which are not reported.
  [[nodiscard]] std::uint64_t uncalled() const noexcept { return uncalled_.load(); }

 private:
  Notifier(Call call, hal::Signal& noticed, Next next);
  void run();
  void notify(const Notice& notice);

  Call call_;
  hal::Signal& noticed_;
  Next next_;
  std::string failure_; // text of the exception; written before failed_ is set
  std::atomic<bool> failed_{false}, ending_{false};
  std::atomic<std::uint64_t> uncalled_{0};
  hal::Thread thread_;
};

} // namespace rtexec::executive

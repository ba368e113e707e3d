// The beat of a run: who watches over the program hears it only while the run's real-time threads make progress.
//
// A thread without real-time priority looks at what those threads count anyway, and sends WATCHDOG=1; where one is
// stuck, it says which and sends nothing, and the manager ends the program in its time. So it does where this thread
// itself gets no core.
#pragma once

#include <rtexec/result.hpp>
#include <rtexec/units.hpp>
#include "hal/thread.hpp"
#include "rtexec/runtime/watches/progress_watch.hpp"
#include "rtexec/runtime/watches/service_manager.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rtexec::executive {

class Beat {
 public:
  /// Tells that the run is ready, and beats where the manager wants it. What `watch` looks at outlives end().
  [[nodiscard]] static Result<std::unique_ptr<Beat>> start(const ServiceManager& manager, ProgressWatch watch,
                                                           const std::string& status);
  ~Beat() { end("request"); }
  Beat(const Beat&) = delete;
  Beat& operator=(const Beat&) = delete;

  /// Tells that the run stops, and why. Once is enough.
  void end(const std::string& why);
  /// A line for the first time that the beat was withheld, and one where it was not heard. Any thread.
  [[nodiscard]] std::vector<std::string> gaps() const;

 private:
  Beat(const ServiceManager& manager, ProgressWatch watch) : manager_(manager), watch_(std::move(watch)) {}
  void run();
  void beat();
  void tell(const std::string& lines);

  const ServiceManager& manager_;
  ProgressWatch watch_;
  const std::string* told_ = nullptr; // who is stuck, as last told
  mutable std::mutex mutex_;
  std::string stuck_, untold_; // the first ones
  std::atomic<bool> ending_{false};
  hal::Signal wake_;
  hal::Thread thread_;
};

} // namespace rtexec::executive

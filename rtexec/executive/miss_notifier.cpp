#include "rtexec/executive/miss_notifier.hpp"

#include <exception>
#include <utility>

namespace rtexec::executive {

MissNotifier::MissNotifier(std::function<void(const Miss&)> callback, hal::Signal& missed, Next next)
    : callback_(std::move(callback)), missed_(missed), next_(std::move(next)) {}

Result<std::unique_ptr<MissNotifier>> MissNotifier::start(std::function<void(const Miss&)> callback,
                                                          hal::Signal& missed, Next next) {
  auto notifier = std::unique_ptr<MissNotifier>(new MissNotifier(std::move(callback), missed, std::move(next)));
  auto thread =
      hal::Thread::start({.name = "misses", .core = {}, .reservation = {}}, [self = notifier.get()] { self->run(); });
  if (!thread) return Unexpected(thread.error());
  notifier->thread_ = std::move(*thread);
  return notifier;
}

void MissNotifier::end() {
  ending_.store(true);
  missed_.raise();
  thread_.join();
}

void MissNotifier::run() {
  for (;;) {
    const std::uint32_t seen = missed_.value();
    const bool ending = ending_.load();
    bool any = false;
    for (auto miss = next_(); miss; miss = next_()) {
      notify(*miss);
      any = true;
    }
    if (ending) return;
    if (!any) missed_.wait(seen);
  }
}

void MissNotifier::notify(const Miss& miss) {
  if (failed_.load()) return void(uncalled_.fetch_add(1));
  try {
    callback_(miss);
  } catch (const std::exception& error) {
    failure_ = error.what();
    failed_.store(true);
  } catch (...) {
    failure_ = "an exception of unknown type";
    failed_.store(true);
  }
}

} // namespace rtexec::executive

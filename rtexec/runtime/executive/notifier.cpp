#include "rtexec/runtime/executive/notifier.hpp"

#include <exception>
#include <utility>

namespace rtexec::executive {

Notifier::Notifier(Call call, hal::Signal& noticed, Next next)
    : call_(std::move(call)), noticed_(noticed), next_(std::move(next)) {}

Result<std::unique_ptr<Notifier>> Notifier::start(Call call, hal::Signal& noticed, Next next) {
  auto notifier = std::unique_ptr<Notifier>(new Notifier(std::move(call), noticed, std::move(next)));
  auto thread =
      hal::Thread::start({.name = "misses", .core = {}, .reservation = {}}, [self = notifier.get()] { self->run(); });
  if (!thread) return Unexpected(thread.error());
  notifier->thread_ = std::move(*thread);
  return notifier;
}

void Notifier::end() {
  ending_.store(true);
  noticed_.raise();
  thread_.join();
}

void Notifier::run() {
  for (;;) {
    const std::uint32_t seen = noticed_.value();
    const bool ending = ending_.load();
    bool any = false;
    for (auto notice = next_(); notice; notice = next_()) {
      notify(*notice);
      any = true;
    }
    if (ending) return;
    if (!any) noticed_.wait(seen);
  }
}

void Notifier::notify(const Notice& notice) {
  if (failed_.load()) return void(uncalled_.fetch_add(1));
  try {
    call_(notice);
  } catch (const std::exception& error) {
    failure_ = error.what();
    failed_.store(true);
  } catch (...) {
    failure_ = "an exception that is not a std::exception";
    failed_.store(true);
  }
}

} // namespace rtexec::executive

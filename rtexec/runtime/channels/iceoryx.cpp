#include "rtexec/runtime/channels/iceoryx.hpp"

#include "hal/thread.hpp"
#include "policies/bounds/charges.hpp"
#include "rtexec/runtime/channels/iceoryx_binding.hpp"
#include "rtexec/runtime/channels/roudi.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace rtexec::channels::iceoryx {
namespace {

using namespace std::chrono_literals;

/// The capacity of a queue. It is small, because only the newest message is needed, and each message occupies one of
/// the daemon's chunks.
constexpr std::uint64_t queue_capacity = 2;
constexpr std::uint32_t alignment = 64;
constexpr Duration timeout = 5s;
static_assert(Subscriber::look_again >= policies::message_looks, "admission charges looks that are no closer");

std::atomic<bool> broken{false}; // true: iceoryx met a fatal error, at which it would have ended the process

// ---- registration ----

struct Registration {
  Result<> outcome;
  std::uint64_t memory = 0; // identifies the daemon (daemon_memory())
};

/// Runs `call`, which queries the daemon, on a thread of its own, and returns its result. If the daemon does not
/// answer, leaves that thread waiting forever, because iceoryx would end the process if the thread returned. Returns
/// iceoryx's error, or an error after a timeout.
Result<void*> ask(std::function<void*()> call) {
  struct Asked {
    std::function<void*()> call;
    void* answer = nullptr;
    std::string error = {};
    hal::Signal done = {};
  };
  const auto asked = std::make_shared<Asked>(std::move(call));
  std::thread([asked] {
    Call within;
    within.end_thread_at_fatal_errors();
    asked->answer = asked->call();
    asked->error = within.last_error();
    asked->done.raise();
  }).detach();
  for (const Instant end = hal::now() + timeout; asked->done.value() == 0;)
    if (!asked->done.wait_until(0, end) && asked->done.value() == 0)
      return fail(Errc::device_lost,
                  "iceoryx's daemon (iox-roudi) did not answer within " + readable(timeout) +
                      ": it hangs, or is not of version 2.0. Stop it, and start this program again.");
  if (!asked->error.empty()) return fail(Errc::refused, asked->error);
  return asked->answer;
}

/// Ends the process without waiting for the daemon's answer. At exit, iceoryx deregisters the process, and would wait
/// for that answer.
void exit_without_answer(int status, void*) {
  std::thread([status] {
    std::this_thread::sleep_for(timeout / 2);
    std::fflush(nullptr);
    ::_exit(status);
  }).detach();
}

Result<> register_process(const Binding& binding) {
  const auto asked = ask([&binding]() -> void* {
    binding.runtime_init(("rtexec-" + std::to_string(::getpid())).c_str());
    return nullptr;
  });
  if (!asked) return Unexpected(asked.error());
  // This handler is registered later than iceoryx's handler, and therefore runs before iceoryx's handler.
  ::on_exit(exit_without_answer, nullptr);
  return {};
}

std::mutex set_up;

/// Returns the result of registering this process. The result is kept, because a process can register only once, even
/// if registration fails.
std::optional<Registration>& registration() {
  static std::optional<Registration> made;
  return made;
}

Result<> state_of(const Registration& made) {
  const char* advice = "\nExisting connections continue; new ones are not possible. Start this program again.";
  if (!made.outcome) return made.outcome;
  if (broken) return fail(Errc::device_lost, "iceoryx reported a fatal error." + std::string(advice));
  if (!daemon_listens())
    return fail(Errc::device_lost,
                "iceoryx's daemon (iox-roudi) ended while this process used it." + std::string(advice));
  if (daemon_memory() != made.memory)
    return fail(Errc::device_lost,
                "iceoryx's daemon (iox-roudi) was restarted and does not know this process." + std::string(advice));
  return {};
}

Result<const Binding*> join() {
  auto binding = open_binding();
  if (!binding) return binding;
  auto& made = registration();
  if (made) {
    if (const auto state = state_of(*made); !state) return Unexpected(state.error());
    return binding;
  }
  if (const auto daemon = ensure_daemon(); !daemon) return Unexpected(daemon.error());
  made.emplace(Registration{.outcome = register_process(**binding), .memory = 0});
  made->memory = daemon_memory();
  if (!made->outcome) return Unexpected(made->outcome.error());
  return binding;
}

std::string name_of(const Service& service) {
  return "'" + service.service + "/" + service.instance + "/" + service.event + "'";
}

Result<> check(const Service& service) {
  for (const std::string* part : {&service.service, &service.instance, &service.event})
    if (part->empty() || part->size() > 100)
      return fail(Errc::bad_input,
                  "the service, instance and event of " + name_of(service) + " must have 1 to 100 characters each.");
  return {};
}

/// Makes a publisher's or subscriber's handle. If iceoryx fails, the handle that `call` returns has no port and is not
/// used.
template <class Handle> Result<Handle> make(const char* what, const Service& service, std::function<Handle()> call) {
  const auto made = ask([call = std::move(call)]() -> void* { return call(); });
  if (made) return static_cast<Handle>(*made);
  if (made.error().code == Errc::device_lost) registration()->outcome = Unexpected(made.error());
  return fail(made.error().code,
              std::string("there is no ") + what + " of " + name_of(service) + ": " + made.error().what);
}

/// Checks the state after a call to iceoryx that may have met a fatal error. Returns false if iceoryx is unusable.
bool intact(const Call& call) noexcept {
  if (call.met_fatal_error()) broken = true;
  return !broken.load(std::memory_order_relaxed);
}

// ---- publisher ----

class IceoryxPublisher final : public Publisher {
 public:
  IceoryxPublisher(const Binding& binding, Bytes largest) : binding_(binding), largest_(largest) {}
  ~IceoryxPublisher() override {
    cancel();
    if (handle_ != nullptr) binding_.publisher_destroy(handle_);
  }

  Result<> connect(const Service& service) {
    PublisherOptions options;
    binding_.publisher_options(&options);
    options.too_slow_policy = PublisherOptions().too_slow_policy;
    options.node = nullptr;
    const auto made =
        make<PublisherHandle>("publisher", service, [&binding = binding_, storage = storage_, service, options] {
          return binding.publisher_create(storage.get(), service.service.c_str(), service.instance.c_str(),
                                          service.event.c_str(), &options);
        });
    if (!made) return Unexpected(made.error());
    handle_ = *made;
    return try_largest(service);
  }

  Expected<std::span<std::byte>, Errc> loan(Bytes payload) noexcept override {
    if (broken.load(std::memory_order_relaxed)) return Unexpected(Errc::device_lost);
    if (loan_ != nullptr || payload > largest_) return Unexpected(Errc::bad_input);
    void* memory = nullptr;
    const Call call;
    const auto size = static_cast<std::uint32_t>(RTEXEC_MESSAGE_HEADER + payload.count);
    const bool given = binding_.loan(handle_, &memory, size, alignment) == allocated;
    if (!intact(call)) return Unexpected(Errc::device_lost);
    if (!given) return Unexpected(Errc::out_of_memory);
    loan_ = static_cast<std::byte*>(memory);
    size_ = payload;
    return std::span(loan_ + RTEXEC_MESSAGE_HEADER, payload.count);
  }

  Status publish(const rtexec_message& header) noexcept override {
    if (broken.load(std::memory_order_relaxed)) return Unexpected(Errc::device_lost);
    if (loan_ == nullptr || payload_size(header) != size_) return Unexpected(Errc::bad_input);
    auto& sent = *reinterpret_cast<rtexec_message*>(loan_);
    sent = header;
    sent.magic = RTEXEC_MESSAGE_MAGIC;
    sent.version = RTEXEC_MESSAGE_VERSION;
    sent.bytes = size_.count;
    std::ranges::fill(sent.reserved, 0);
    std::fill(sent.shape + header.rank, std::end(sent.shape), 0);
    const Call call;
    binding_.publish(handle_, std::exchange(loan_, nullptr));
    return intact(call) ? Status() : Unexpected(Errc::device_lost);
  }

  void cancel() noexcept override {
    if (loan_ != nullptr) binding_.release_loan(handle_, std::exchange(loan_, nullptr));
  }

  bool has_subscribers() const noexcept override { return binding_.has_subscribers(handle_); }

 private:
  Result<> try_largest(const Service& service) {
    const auto tried = loan(largest_);
    if (tried) return cancel(), Result<>();
    return fail(Errc::refused, "iceoryx's daemon has no memory for messages of " + name_of(service) + " with " +
                                   readable(largest_) +
                                   ".\nGive it a memory pool of larger or more chunks: /etc/iceoryx/roudi_config.toml, "
                                   "or iox-roudi --config-file.");
  }

  const Binding& binding_;
  const Bytes largest_;
  const std::shared_ptr<Storage> storage_ = std::make_shared<Storage>();
  PublisherHandle handle_ = nullptr;
  std::byte* loan_ = nullptr;
  Bytes size_;
};

// ---- subscriber ----

void add(std::atomic<std::uint64_t>& count, std::uint64_t more = 1) noexcept {
  count.fetch_add(more, std::memory_order_relaxed);
}

class IceoryxSubscriber final : public Subscriber {
 public:
  explicit IceoryxSubscriber(const Binding& binding) : binding_(binding) {}
  ~IceoryxSubscriber() override {
    if (handle_ == nullptr) return;
    IceoryxSubscriber::release();
    binding_.subscriber_destroy(handle_);
  }

  Result<> connect(const Service& service) {
    SubscriberOptions options;
    binding_.subscriber_options(&options);
    options.queue_capacity = queue_capacity;
    options.queue_full_policy = SubscriberOptions().queue_full_policy;
    const auto made =
        make<SubscriberHandle>("subscriber", service, [&binding = binding_, storage = storage_, service, options] {
          return binding.subscriber_create(storage.get(), service.service.c_str(), service.instance.c_str(),
                                           service.event.c_str(), &options);
        });
    if (!made) return Unexpected(made.error());
    handle_ = *made;
    return {};
  }

  Expected<std::optional<Message>, Errc> newest() noexcept override {
    if (broken.load(std::memory_order_relaxed)) return Unexpected(Errc::device_lost);
    std::optional<Message> found;
    const void* chunk = nullptr;
    bool malformed = false;
    const Call call;
    // The number of iterations is limited to the messages of a full queue and some that arrive meanwhile. So a fast
    // publisher cannot keep the caller in this loop.
    for (std::uint64_t i = 0; i < 2 * queue_capacity; ++i) {
      const void* taken = nullptr;
      if (binding_.take(handle_, &taken) != received) break;
      if (const auto message = look_at(taken)) {
        if (chunk != nullptr) pass_over(chunk);
        chunk = taken;
        found = message;
      } else {
        malformed = true;
        add(malformed_);
        binding_.release(handle_, taken);
      }
    }
    if (!intact(call)) return Unexpected(Errc::device_lost);
    if (!found) return malformed ? Expected<std::optional<Message>, Errc>(Unexpected(Errc::bad_input)) : found;
    release();
    held_ = chunk;
    add(messages_);
    return found;
  }

  void release() noexcept override {
    if (held_ != nullptr) binding_.release(handle_, std::exchange(held_, nullptr));
  }

  Expected<Wake, Errc> await(Instant until) noexcept override {
    for (;;) {
      if (broken.load(std::memory_order_relaxed)) return Unexpected(Errc::device_lost);
      const std::uint32_t wakes = wakes_.value();
      if (std::exchange(wakes_seen_, wakes) != wakes) return Wake::woken;
      if (binding_.has_chunks(handle_)) return Wake::message;
      const Instant now = hal::now();
      if (now >= until) return Wake::time;
      (void)wakes_.wait_until(wakes, std::min(until, now + look_again));
    }
  }

  void wake() noexcept override { wakes_.raise(); }

  Counts counts() const noexcept override {
    return {.messages = messages_, .passed_over = passed_over_, .lost = lost_, .malformed = malformed_};
  }

 private:
  std::optional<Message> look_at(const void* taken) noexcept {
    const auto& chunk = *reinterpret_cast<const ChunkHeader*>(binding_.chunk_of(taken));
    if (chunk.version != ChunkHeader::known_version) return std::nullopt;
    count_gap(chunk);
    return read_message({static_cast<const std::byte*>(taken), chunk.payload_size});
  }

  void count_gap(const ChunkHeader& chunk) noexcept {
    if (chunk.origin == last_origin_) add(lost_, chunk.sequence - last_sequence_ - 1);
    last_origin_ = chunk.origin;
    last_sequence_ = chunk.sequence;
  }

  void pass_over(const void* chunk) noexcept {
    binding_.release(handle_, chunk);
    add(passed_over_);
  }

  const Binding& binding_;
  const std::shared_ptr<Storage> storage_ = std::make_shared<Storage>();
  SubscriberHandle handle_ = nullptr;
  hal::Signal wakes_;
  std::uint32_t wakes_seen_ = 0; // wake-ups that await() has seen
  const void* held_ = nullptr;   // the message that newest() returned
  std::uint64_t last_origin_ = 0, last_sequence_ = 0;
  std::atomic<std::uint64_t> messages_{0}, passed_over_{0}, lost_{0}, malformed_{0};
};

} // namespace

Result<> connection_state() {
  const std::lock_guard lock(set_up);
  return registration() ? state_of(*registration()) : Result<>();
}

Result<std::unique_ptr<Publisher>> Publisher::open(const Service& service, Bytes largest) {
  const std::lock_guard lock(set_up);
  if (const auto good = check(service); !good) return Unexpected(good.error());
  if (largest.count > std::numeric_limits<std::uint32_t>::max() / 2)
    return fail(Errc::bad_input,
                "messages of " + name_of(service) + " are larger than iceoryx can send: " + readable(largest) + ".");
  const auto binding = join();
  if (!binding) return Unexpected(binding.error());
  auto publisher = std::make_unique<IceoryxPublisher>(**binding, largest);
  if (const auto connected = publisher->connect(service); !connected) return Unexpected(connected.error());
  return std::unique_ptr<Publisher>(std::move(publisher));
}

Result<std::unique_ptr<Subscriber>> Subscriber::open(const Service& service) {
  const std::lock_guard lock(set_up);
  if (const auto good = check(service); !good) return Unexpected(good.error());
  const auto binding = join();
  if (!binding) return Unexpected(binding.error());
  auto subscriber = std::make_unique<IceoryxSubscriber>(**binding);
  if (const auto connected = subscriber->connect(service); !connected) return Unexpected(connected.error());
  return std::unique_ptr<Subscriber>(std::move(subscriber));
}

} // namespace rtexec::channels::iceoryx

#include "rtexec/sharing/client/client.hpp"

#include <cerrno>
#include <poll.h>
#include <string>
#include <system_error>
#include <utility>

namespace rtexec::client {
namespace {

using namespace std::chrono_literals;
using protocol::Delivery;

constexpr Duration between_attempts = 100ms;
constexpr Duration between_looks = 2ms; // interval between checks for the end of the client's last job
/// An idle daemon, on a core that is kept out of idle states, answers within this time.
constexpr Duration spin = 30us;
constexpr Duration between_questions = 5ms;
constexpr Duration asks_for = 2s; // maximum time of retries after the answer "later"
/// The interval between checks if this client ends, in ms. poll() reports the daemon's end at once.
constexpr int look_for_end_ms = 200;

Errc code_of(protocol::Refusal refusal) {
  switch (refusal) {
  case protocol::Refusal::limit:
  case protocol::Refusal::full: return Errc::out_of_memory;
  case protocol::Refusal::not_proved:
  case protocol::Refusal::later: return Errc::not_proved;
  case protocol::Refusal::unsupported: return Errc::unsupported;
  case protocol::Refusal::other_version:
  case protocol::Refusal::not_allowed:
  case protocol::Refusal::order:
  case protocol::Refusal::stopping: return Errc::refused;
  }
  return Errc::refused;
}

Unexpected<Error> gone() { return fail(Errc::cancelled, "The daemon has ended."); }

} // namespace

/// Sends a request and returns the answer. `with` receives the descriptor of the answer. While the daemon answers
/// "later", repeats the request for up to `asks_for`. Does not repeat the request while the client holds the device,
/// because other clients wait for the device.
template <class Answer, class Question> Result<Answer> Client::ask(const Question& question, config::Descriptor* with) {
  protocol::Letter letter;
  later_ = false;
  for (const Instant until = hal::now() + asks_for;; hal::sleep_until(hal::now() + between_questions)) {
    if (!channel_ || channel_->send(question) != Delivery::done) return gone();
    if (const Delivery came = channel_->receive(letter); came != Delivery::done)
      return came == Delivery::closed ? gone()
                                      : fail(Errc::refused, "The daemon's answer is not valid in this version.");
    const auto refused = protocol::read<protocol::Refused>(letter.bytes());
    if (!refused) break;
    later_ = refused->code == protocol::Refusal::later;
    if (!later_ || holds() || hal::now() >= until || stopping_.load(std::memory_order_acquire))
      return fail(code_of(refused->code), std::string(protocol::view(refused->text)));
  }
  const auto header = protocol::header_of(letter.bytes());
  if (header && header->version != protocol::version)
    return fail(Errc::refused, "rtexecd speaks version " + std::to_string(header->version) +
                                   " of the protocol, the library " + std::to_string(protocol::version) +
                                   ": install both from one release.");
  const auto answer = protocol::read<Answer>(letter.bytes());
  if (!answer || (with != nullptr && letter.descriptor.get() < 0))
    return fail(Errc::refused, "The daemon's answer is not valid in this version.");
  if (with != nullptr) *with = std::move(letter.descriptor);
  return *answer;
}

Result<std::unique_ptr<Client>> Client::connect(ClientOptions options, ClientMemory& memory) {
  std::error_code error; // an absolute path is valid even if the process changes its directory
  if (const auto whole = std::filesystem::absolute(options.directory, error); !error) options.directory = whole;
  std::unique_ptr<Client> client(new Client(std::move(options), memory));
  if (auto opened = client->open(); !opened) return Unexpected(opened.error());
  auto keeper = hal::Thread::start({.name = "rtexec-keeper", .core = {}, .reservation = {}},
                                   [self = client.get()] { self->keep(); });
  if (!keeper) return Unexpected(keeper.error());
  client->keeper_ = std::move(*keeper);
  return client;
}

Client::~Client() {
  stopping_.store(true, std::memory_order_release);
  reopened_.raise();
  keeper_.join();
  connection_.store(nullptr);
}

Result<> Client::open() {
  const std::scoped_lock lock(asking_);
  auto channel = protocol::Channel::connect(options_.directory / "socket");
  if (!channel) return Unexpected(channel.error());
  channel_ = std::move(*channel);
  config::Descriptor memory;
  const auto welcome = ask<protocol::Welcome>(protocol::Hello{.header = {},
                                                              .name = protocol::text<64>(options_.name),
                                                              .granularity = options_.granularity.count,
                                                              .chunk_bytes = welcome_.chunk_bytes,
                                                              .can_export = options_.takes_chunks ? 1U : 0U,
                                                              .slots = slots_},
                                              &memory);
  if (!welcome) return Unexpected(welcome.error());
  welcome_ = *welcome;
  auto segment = protocol::SharedSegment::open(std::move(memory));
  if (!segment) return Unexpected(segment.error());
  if (auto taken = take_frames(); !taken) return taken;
  const auto before = connection();
  auto opened = std::make_shared<Connection>(std::move(*segment), before ? before->jobs.last() : 0,
                                             welcome_.awake == 1 ? spin : Duration(0));
  auto agent = Agent::start(*opened->segment, opened->outbox, memory_,
                            {.name = "rtexec-agent",
                             .core = {},
                             .fifo_priority = static_cast<int>(welcome_.agent_priority),
                             .reservation = {}},
                            options_.hurry);
  if (!agent) return Unexpected(agent.error());
  opened->agent = std::move(*agent);
  if (declared_ && welcome_.declared == 0)
    if (const auto again = ask<protocol::Declared>(*declared_); !again) return Unexpected(again.error());
  connection_.store(std::move(opened), std::memory_order_release);
  return {};
}

Result<> Client::take_frames() {
  if (welcome_.mode != protocol::Mode::shared_chunks) return {};
  for (std::uint32_t frame = 0; frame < welcome_.frames; ++frame) {
    config::Descriptor chunk;
    if (const auto answer = ask<protocol::Frame>(protocol::NeedFrame{.header = {}, .frame = frame}, &chunk); !answer)
      return Unexpected(answer.error());
    if (auto adopted = memory_.adopt(frame, std::move(chunk)); !adopted) return adopted;
  }
  return {};
}

Result<Duration> Client::declare(const protocol::Declare& declaration) {
  const std::scoped_lock lock(asking_);
  const auto declared = ask<protocol::Declared>(declaration);
  if (!declared) return Unexpected(declared.error());
  declared_ = declaration;
  return Duration(declared->response_bound_ns);
}

Result<> Client::grow(std::uint32_t slots) {
  const std::scoped_lock lock(asking_);
  const auto asked = [&] {
    return ask<protocol::Grown>(protocol::Grow{.header = {}, .slots = slots, .holds = holds() ? 1U : 0U});
  };
  auto grown = asked();
  if (!grown && later_ && holds()) {
    end(); // the interrupted work continues as the client's next job in any case
    grown = asked();
  }
  if (!grown) return Unexpected(grown.error());
  slots_ = grown->slots;
  if (!holds()) return {};
  const Grant again = connection()->jobs.resume();
  if (again == Grant::granted) return {};
  holds_.store(false, std::memory_order_release);
  if (again == Grant::lost) return gone();
  return fail(Errc::out_of_memory, "The client's memory could not be brought back to the device.");
}

bool Client::begin() noexcept {
  for (;;) {
    const std::uint32_t seen = reopened_.value();
    const auto current = connection();
    switch (current->jobs.begin()) {
    case Grant::granted: holds_.store(true, std::memory_order_release); return true;
    case Grant::failed: return false;
    case Grant::lost: break;
    }
    if (stopping_.load(std::memory_order_acquire)) return false;
    if (connection() == current) reopened_.wait(seen);
  }
}

void Client::end() noexcept {
  if (!holds_.exchange(false, std::memory_order_acq_rel)) return;
  connection()->jobs.end();
}

// ---- after the end of the daemon ----

void Client::keep() {
  for (;;) {
    await_end_of_daemon();
    leave_daemon();
    if (stopping_.load(std::memory_order_acquire)) return;
    reopen();
  }
}

void Client::await_end_of_daemon() const {
  pollfd socket{.fd = channel_->descriptor(), .events = POLLRDHUP, .revents = 0};
  while (!stopping_.load(std::memory_order_acquire)) {
    const int ready = ::poll(&socket, 1, look_for_end_ms);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return;
  }
}

/// Waits for the end of the current job, because the job's memory must stay resident until the job has ended. Then
/// saves all slots.
void Client::leave_daemon() {
  const auto current = connection();
  current->jobs.lose();
  const bool stopping = stopping_.load(std::memory_order_acquire);
  if (!stopping) notice("rtexecd has ended: jobs wait until it is started again");
  while (!stopping && holds() && !stopping_.load(std::memory_order_acquire))
    hal::sleep_until(hal::now() + between_looks);
  current->agent.reset();
  if (stopping) return;
  if (const auto saved = memory_.forget_frames(); !saved) notice(saved.error().what);
}

void Client::reopen() {
  std::string told;
  while (!stopping_.load(std::memory_order_acquire)) {
    const auto opened = open();
    if (opened) {
      notice("rtexecd is available again");
      reopened_.raise();
      return;
    }
    if (opened.error().code != Errc::cancelled && opened.error().what != told) notice(told = opened.error().what);
    hal::sleep_until(hal::now() + between_attempts);
  }
  reopened_.raise();
}

} // namespace rtexec::client

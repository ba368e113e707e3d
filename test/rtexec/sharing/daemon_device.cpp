#include "test/rtexec/sharing/daemon_device.hpp"

#include "test/support/resolved.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace rtexec::daemon::test {

using protocol::EntryKind;

AdmissionOptions admission_options(std::uint32_t frames, std::uint32_t places) {
  using namespace std::chrono_literals;
  constexpr Bytes chunk{std::uint64_t{2} << 20};
  Board board;
  board.name = "host";
  board.capacity = chunk * frames;
  board.chunk = chunk;
  board.copy_engines = 2;
  board.memory_policies = {MemoryPolicy::device};
  board.swap_costs = {{.chunk = chunk, .in_per_chunk = 100us, .out_per_chunk = 100us}};
  AdmissionOptions options;
  options.device = rtexec::test::resolved({}, board);
  options.places = places;
  options.best_effort_wcet = 5ms;
  return options;
}

SimulatedDevice::SimulatedDevice(const DispatcherOptions& options, Duration chunk, std::uint64_t seed)
    : dispatcher_(options, *this), chunk_(chunk), random_(seed), clients_(options.places), frames_(options.frames) {
  now_ = Instant(std::chrono::seconds(1));
}

Duration SimulatedDevice::between(Duration least, Duration most) {
  return least +
         Duration(static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>((most - least).count() + 1)));
}

void SimulatedDevice::later(std::uint32_t place, Instant when, std::function<void(Client&)> what) {
  at(when, [this, place, life = clients_[place].life, what = std::move(what)] {
    if (clients_[place].life == life) what(clients_[place]);
  });
}

void SimulatedDevice::attach(std::uint32_t place, const Contract& contract, const Program& program) {
  ASSERT_TRUE(dispatcher_.attach(place, contract, now_));
  Client& client = clients_[place];
  client = {};
  client.life = ++lives_;
  client.program = program;
  client.slots.resize(contract.task.slots);
  later(place, now_ + between(Duration(0), program.asks_at_once ? Duration(0) : program.least),
        [this, place](Client&) { ask(place); });
}

void SimulatedDevice::change(std::uint32_t place, const Contract& contract, bool interrupt) {
  ASSERT_TRUE(dispatcher_.change(place, contract, interrupt, now_));
}

void SimulatedDevice::kill(std::uint32_t place) {
  if (clients_[place].life == 0) return;
  clients_[place] = {};
  for (Frame& frame : frames_)
    if (frame.owner == place) frame = {};
  dispatcher_.died(place, now_);
}

void SimulatedDevice::run_until(Instant when) {
  for (;;) {
    const Instant next = agenda_.empty() ? Instant::max() : agenda_.begin()->first;
    const Instant tick = dispatcher_.next_tick().value_or(Instant::max());
    if (std::min(next, tick) > when) break;
    now_ = std::max(now_, std::min(next, tick));
    if (tick <= next) {
      dispatcher_.tick(now_);
    } else {
      const auto what = std::move(agenda_.begin()->second);
      agenda_.erase(agenda_.begin());
      what();
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  now_ = when;
}

void SimulatedDevice::say(std::uint32_t place, EntryKind kind, std::uint32_t slot, std::uint32_t frame,
                          std::uint64_t job, bool failed) {
  dispatcher_.take(place,
                   {.kind = static_cast<std::uint16_t>(kind),
                    .status = failed,
                    .slot = slot,
                    .frame = frame,
                    .reserved = 0,
                    .job = job,
                    .time_ns = now_.time_since_epoch().count()},
                   now_);
}

void SimulatedDevice::ask(std::uint32_t place) {
  if (clients_[place].program.rests)
    return later(place, now_ + std::chrono::microseconds(100), [this, place](Client&) { ask(place); });
  say(place, EntryKind::request, 0, 0, ++clients_[place].job);
}

void SimulatedDevice::verdict(std::uint32_t place, protocol::JobVerdict verdict) noexcept {
  Client& client = clients_[place];
  ASSERT_EQ(verdict.job, client.job);
  switch (verdict.verdict) {
  case protocol::Verdict::waiting: client.executes = false; return;
  case protocol::Verdict::granted: return execute(place);
  case protocol::Verdict::failed:
  case protocol::Verdict::dropped:
    ++seen.failed;
    later(place, now_ + client.program.least, [this, place](Client&) { ask(place); });
    return;
  }
}

void SimulatedDevice::execute(std::uint32_t place) {
  Client& client = clients_[place];
  for (const Client& other : clients_) ASSERT_FALSE(other.executes) << "two execute";
  client.executes = true;
  ++seen.executions;
  for (std::uint32_t index = 0; index < dispatcher_.state().slots[place].size(); ++index) {
    Slot& slot = client.slots[index];
    ASSERT_TRUE(slot.frame) << "it executes without slot " << index;
    const Frame& frame = frames_[*slot.frame];
    ASSERT_EQ(frame.owner, place);
    ASSERT_EQ(frame.contents, slot.written) << "place " << place << ", slot " << index;
  }
  if (client.program.never_ends) return;
  const Instant asked = now_;
  later(place, now_ + between(client.program.quickest, client.program.slowest),
        [this, place, asked, job = client.job](Client& it) {
          if (!it.executes || it.job != job) return; // interrupted
          for (Slot& slot : it.slots)
            if (slot.frame && random_() % 4 == 0) frames_[*slot.frame].contents = slot.written = ++stamp_;
          it.executes = false;
          say(place, EntryKind::done, 0, 0, it.job);
          later(place, std::max(now_, asked + between(it.program.least, it.program.longest)),
                [this, place](Client&) { ask(place); });
        });
}

void SimulatedDevice::command(std::uint32_t place, const protocol::Entry& entry) noexcept {
  Client& client = clients_[place];
  ASSERT_NE(client.life, 0u) << "a command to nobody";
  const auto kind = static_cast<EntryKind>(entry.kind);
  if (kind == EntryKind::hurry) return void(++seen.hurried);
  ASSERT_LT(entry.slot, client.slots.size());
  ASSERT_LT(entry.frame, frames_.size());
  if (client.program.ignores_commands || client.dying) return;
  if (kind == EntryKind::load) return load(place, entry.slot, entry.frame);
  ASSERT_EQ(kind, EntryKind::save);
  save(place, entry.slot, entry.frame);
}

void SimulatedDevice::load(std::uint32_t place, std::uint32_t slot, std::uint32_t frame) {
  ASSERT_EQ(frames_[frame].owner, std::nullopt) << "frame " << frame << " is still another's";
  frames_[frame].owner = place;
  loads_until_ = std::max(loads_until_, now_) + chunk_;
  later(place, loads_until_, [=, this](Client& client) {
    ++seen.loads;
    client.slots[slot].frame = frame;
    frames_[frame].contents = client.slots[slot].saved;
    say(place, EntryKind::loaded, slot, frame, 0);
  });
}

void SimulatedDevice::save(std::uint32_t place, std::uint32_t slot, std::uint32_t frame) {
  ASSERT_EQ(clients_[place].slots[slot].frame, frame);
  ASSERT_FALSE(clients_[place].executes) << "a chunk of the executing client is to leave";
  if (clients_[place].program.reports_failed_saves) {
    later(place, now_, [=, this](Client&) { say(place, EntryKind::saved, slot, frame, 0, true); });
    return;
  }
  saves_until_ = std::max(saves_until_, now_) + chunk_;
  later(place, saves_until_, [=, this](Client& client) {
    ++seen.saves;
    client.slots[slot].saved = frames_[frame].contents;
    client.slots[slot].frame.reset();
    frames_[frame] = {};
    say(place, EntryKind::saved, slot, frame, 0);
  });
}

void SimulatedDevice::changed(std::uint32_t place) noexcept {
  ++seen.changed;
  clients_[place].slots.resize(dispatcher_.state().slots[place].size());
}

void SimulatedDevice::expel(std::uint32_t place, Expelled why) noexcept {
  seen.expelled.emplace_back(place, why);
  clients_[place].dying = true;
  later(place, now_ + dies_within, [this, place](Client&) { kill(place); });
}

void SimulatedDevice::vacant(std::uint32_t place) noexcept {
  if (on_vacant) at(now_, [this, place] { on_vacant(place); });
}

} // namespace rtexec::daemon::test

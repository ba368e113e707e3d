#include "hal/board/clock_lock.hpp"

#include "config/base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <ranges>
#include <span>
#include <sys/stat.h>

namespace rtexec::hal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view first_line = "rtexec clocks 1";

fs::path state_of(const fs::path& folder) { return folder / "clocks"; }
fs::path lock_of(const fs::path& folder) { return folder / "clocks.lock"; }

// ---- the state file ----

std::string state_text(const std::vector<ClockChange>& changes) {
  std::string text = std::string(first_line) + '\n';
  for (const ClockChange& change : changes)
    text += change.file.string() + '\t' + change.before + '\t' + change.after + '\n';
  return text + "end " + std::to_string(changes.size()) + '\n';
}

struct State {
  std::vector<ClockChange> changes;
  bool whole = false; // false: the file is truncated because its run was killed before it changed any clock
};

/// Parses the text of a state file. Returns nullopt if the text was not written by rtexec.
std::optional<State> parse_state(std::string_view text) {
  const auto lines = config::parts(text, '\n');
  if (lines.empty()) return State();
  if (lines.size() == 1 && first_line.starts_with(lines.front())) return State();
  if (lines.size() == 1 || lines.front() != first_line) return std::nullopt;
  State state;
  for (const auto line : std::span(lines).subspan(1, lines.size() - 2)) {
    const auto columns = config::parts(line, '\t');
    if (columns.size() != 3 || !columns[0].starts_with('/')) return std::nullopt;
    state.changes.push_back({fs::path(columns[0]), std::string(columns[1]), std::string(columns[2])});
  }
  const std::string end = "end " + std::to_string(state.changes.size());
  state.whole = lines.back() == end;
  if (state.whole || end.starts_with(lines.back()) || lines.back().starts_with('/')) return state;
  return std::nullopt;
}

Error foreign_state(const fs::path& file, const std::string& why) {
  return {Errc::refused, file.string() + " is no state file of locked clocks: " + why +
                             ". It is unchanged, and nothing was restored.\nFind out who made it, and move it away. "
                             "Clocks that a killed run has left locked are reset by a reboot."};
}

/// Reads and parses the state file. Returns nullopt if the file does not exist.
Result<std::optional<State>> read_state(const fs::path& file) {
  std::error_code error;
  const auto type = fs::symlink_status(file, error).type();
  if (type == fs::file_type::not_found) return std::nullopt;
  if (!error && type != fs::file_type::regular) return Unexpected(foreign_state(file, "it is not a regular file"));
  const auto text = Machine("/").read(file);
  if (!text) return Unexpected(text.error());
  auto state = parse_state(*text);
  if (!state)
    return Unexpected(
        foreign_state(file, "it begins with " + config::quoted(*text, 40) + ", so no run of rtexec wrote it"));
  return state;
}

/// Writes the state file and waits until the file is on the disk.
Result<> write_state(const fs::path& file, const std::vector<ClockChange>& changes) {
  const std::string text = state_text(changes);
  const FileDescriptor state(
      sys().create(file.c_str(), O_WRONLY | O_EXCL | O_NOFOLLOW | O_SYNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (state.number() < 0) return call_failed("making " + file.string(), errno);
  const ssize_t written = sys().write(state.number(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return {};
  const int error = written < 0 ? errno : ENOSPC;
  sys().unlink(file.c_str());
  return call_failed("writing " + file.string(), error);
}

// ---- planned changes ----

Result<std::string> number_text(const BoardFile& file, const Machine& machine) {
  auto text = machine.read(file.file);
  if (text && !config::number<std::uint64_t>(*text))
    return fail(Errc::refused,
                machine.under_root(file.file).string() + " reads " + config::quoted(*text) + ", no number");
  return text;
}

struct Plan {
  std::vector<ClockChange> changes;
  std::vector<LockedClock> clocks;
};

Result<> change(const BoardFile& file, const std::string& after, const Machine& machine, Plan& plan) {
  auto before = number_text(file, machine);
  if (!before) return Unexpected(before.error());
  if (*before != after) plan.changes.push_back({file.file, std::move(*before), after});
  return {};
}

/// Plans to raise the clock's lowest permitted rate to its highest permitted rate. The highest permitted rate stays
/// unchanged, so the lowest permitted rate never exceeds it.
Result<> raise_lowest(const FoundClock& clock, const Machine& machine, Plan& plan) {
  const auto highest = number_text(*clock.highest, machine);
  if (!highest) return Unexpected(highest.error());
  const auto hertz = read_value(*clock.highest, machine);
  if (!hertz) return Unexpected(hertz.error());
  plan.clocks.push_back({clock.name, clock.rate, *hertz});
  return change(*clock.lowest, *highest, machine, plan);
}

/// Plans to set the rate first and then to lock it, because the lock holds the clock at its present rate.
Result<> set_and_lock(const FoundClock& clock, const Machine& machine, Plan& plan) {
  const auto hertz = highest_settable(clock, machine);
  if (!hertz) return Unexpected(hertz.error());
  plan.clocks.push_back({clock.name, clock.rate, *hertz});
  if (auto set = change(*clock.set, std::to_string(*hertz / clock.set->factor), machine, plan); !set) return set;
  return change(*clock.lock, "1", machine, plan);
}

bool is_raised(const FoundClock& clock) { return clock.lowest && clock.highest; }
bool is_set(const FoundClock& clock) { return clock.set && clock.lock && clock.possible; }
bool can_be_locked(const FoundClock& clock) { return is_raised(clock) || is_set(clock); }

Result<Plan> plan_for(const FoundHardware& hardware, const Machine& machine) {
  Plan plan;
  for (const ClockKind kind : {ClockKind::memory, ClockKind::cpu, ClockKind::gpu})
    for (const FoundClock& clock : hardware.clocks) {
      if (clock.kind != kind) continue;
      Result<> planned;
      if (is_raised(clock)) planned = raise_lowest(clock, machine, plan);
      else if (is_set(clock)) planned = set_and_lock(clock, machine, plan);
      if (!planned) return Unexpected(planned.error());
    }
  return plan;
}

/// Writes `value` to `file` and reads it back.
Result<> give(const fs::path& file, const std::string& value, const Machine& machine) {
  if (auto sent = machine.send(file, value); !sent) return sent;
  const auto found = number_text({.file = file, .times = {}}, machine);
  if (!found) return Unexpected(found.error());
  const auto number = [](const std::string& text) { return config::number<std::int64_t>(text).value_or(0); };
  if (*found == value || (number(value) > 1 && is_rate(number(*found), number(value)))) return {};
  return fail(Errc::refused, "writing \"" + value + "\" to " + machine.under_root(file).string() +
                                 " was accepted, but it then reads \"" + *found + "\".");
}

/// Restores the files in reverse order, because later changes depend on earlier changes. Continues after an error, and
/// returns the first error.
Result<> give_back(const std::vector<ClockChange>& changes, const Machine& machine) {
  Result<> outcome;
  for (const ClockChange& change : std::views::reverse(changes)) {
    const auto now = machine.read(change.file);
    if (now && *now == change.before) continue;
    if (const auto given = give(change.file, change.before, machine); !given && outcome) outcome = given;
  }
  return outcome;
}

/// Restores from the state file. The caller holds the lock.
Result<std::size_t> restore_state(const Machine& machine, const fs::path& file) {
  const auto state = read_state(file);
  if (!state) return Unexpected(state.error());
  if (!*state) return std::size_t{0};
  const auto& [changes, whole] = **state;
  if (whole)
    if (const auto given = give_back(changes, machine); !given) return Unexpected(given.error());
  if (sys().unlink(file.c_str()) != 0) return call_failed("removing " + file.string(), errno);
  return whole ? changes.size() : 0;
}

} // namespace

Result<ClockLock> ClockLock::take(const FoundHardware& hardware, const Machine& machine, const fs::path& folder) {
  if (std::ranges::none_of(hardware.clocks, can_be_locked)) return ClockLock(machine);
  if (auto made = make_lock_folder(folder); !made) return Unexpected(made.error());
  auto held = lock_file(lock_of(folder));
  if (!held) return Unexpected(held.error());
  if (!*held) return fail(Errc::refused, "another run has locked the clocks of this machine");
  ClockLock lock(machine);
  lock.state_ = state_of(folder);
  lock.lock_ = std::move(**held);
  if (const auto left_over = restore_state(machine, lock.state_); !left_over) return Unexpected(left_over.error());
  auto plan = plan_for(hardware, machine);
  if (!plan) return Unexpected(plan.error());
  lock.clocks_ = std::move(plan->clocks);
  if (plan->changes.empty()) return lock;
  if (auto written = write_state(lock.state_, plan->changes); !written) return Unexpected(written.error());
  lock.changes_ = std::move(plan->changes);
  for (const ClockChange& change : lock.changes_)
    if (const auto given = give(change.file, change.after, machine); !given) return Unexpected(given.error());
  return lock;
}

ClockLock::~ClockLock() { static_cast<void>(restore()); }

Result<> ClockLock::restore() {
  if (changes_.empty()) return {};
  if (auto given = give_back(changes_, machine_); !given) return given;
  changes_.clear();
  clocks_.clear();
  if (sys().unlink(state_.c_str()) != 0) return call_failed("removing " + state_.string(), errno);
  return {};
}

Result<std::size_t> restore_clocks(const Machine& machine, const fs::path& folder) {
  const fs::path state = state_of(folder);
  if (std::error_code error; fs::symlink_status(state, error).type() == fs::file_type::not_found) return std::size_t{0};
  const auto held = lock_file(lock_of(folder));
  if (!held) return Unexpected(held.error());
  if (!*held) return std::size_t{0};
  return restore_state(machine, state);
}

} // namespace rtexec::hal

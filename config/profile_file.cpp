#include "config/profile_file.hpp"

#include "config/toml_readers.hpp"
#include "config/base/files.hpp"
#include "config/memory_policy.hpp"
#include "config/names.hpp"
#include "config/schema.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace rtexec {
namespace {

using namespace std::chrono_literals;
using namespace config;

constexpr double largest_margin = 100;

/// Returns a function that accesses one part of one of an entry's two WCETs.
auto part(Wcet ProfileEntry::*wcet, Duration Wcet::*which) {
  return [=](auto& entry) -> auto& { return (entry.*wcet).*which; };
}

std::vector<Key<Profile>> top_keys() {
  return {key<Profile>("machine", text(), required, "where it was measured", &Profile::machine),
          key<Profile>("device", text(), required, "the device's name", &Profile::device)};
}

/// The names of the keys for the basis of one part's WCET: the measurements that it was derived from.
struct BasisNames {
  std::string_view method, exceedance, block, longest;
};

std::vector<Key<ProfileEntry>> basis_keys(const BasisNames& names, PartBasis ProfileEntry::*part) {
  using P = ProfileEntry;
  const auto of = [=](auto member) {
    return [=](auto& entry) -> auto& { return (entry.*part).*member; };
  };
  return {
      key<P>(names.method, one_of<WcetMethod>(), spelling(WcetMethod::growth),
             "how the WCET was derived from the executions", of(&PartBasis::method)),
      key<P>(names.exceedance, real(0, 1), "0", "maximum probability that a job exceeds it; 0: not known",
             of(&PartBasis::exceedance)),
      key<P>(names.block, integer<std::uint64_t>(1, std::uint64_t{1} << 62), "1",
             "number of jobs of which each of these is the longest", of(&PartBasis::block)),
      key<P>(
          names.longest, list_of(integer<std::int64_t>(0, longest_interval.count())), "none",
          "the longest executions in ns, block by block; more can be added to them",
          [=](const P& entry) -> std::optional<std::vector<std::int64_t>> {
            if ((entry.*part).longest.empty()) return std::nullopt;
            std::vector<std::int64_t> counts;
            for (const Duration each : (entry.*part).longest) counts.push_back(each.count());
            return counts;
          },
          [=](P& entry, const std::vector<std::int64_t>& counts) {
            (entry.*part).longest.clear();
            for (const std::int64_t count : counts) (entry.*part).longest.emplace_back(count);
          }),
  };
}

/// Makes the key of a member of ProfiledTraffic. If a file has any of these keys, its entry has traffic.
template <class T>
Key<ProfileEntry> traffic_key(std::string_view name, const Type<T>& type, std::string_view meaning,
                              T ProfiledTraffic::*member) {
  return key<ProfileEntry>(
      name, type, "not measured: no micro-benchmark", meaning,
      [=](const ProfileEntry& entry) {
        return entry.traffic ? std::optional<T>((*entry.traffic).*member) : std::nullopt;
      },
      [=](ProfileEntry& entry, const T& value) {
        if (!entry.traffic) entry.traffic.emplace();
        (*entry.traffic).*member = value;
      });
}

std::vector<Key<ProfileEntry>> traffic_keys() {
  using T = ProfiledTraffic;
  const auto count = integer<std::uint64_t>(0, std::numeric_limits<std::int64_t>::max());
  return {traffic_key("bytes_in", bytes(), "that a job copies to the device under D", &T::in),
          traffic_key("bytes_out", bytes(), "that it copies back", &T::out),
          traffic_key("copies", count, "of a job under D", &T::copies),
          traffic_key("launches", count, "of kernels by a job", &T::launches),
          traffic_key("dirty_launches", count, "before which the CPU wrote what they touch", &T::dirty_launches),
          traffic_key("mapped", bytes(), "what those touch under M", &T::mapped),
          traffic_key("touched", bytes(), "by all launches, of memory that CPU and device exchange", &T::touched),
          traffic_key("written", bytes(), "of it", &T::written),
          traffic_key("cache_accesses", count, "of the device's cache, in lines", &T::cache_accesses),
          traffic_key("hit_rate", real(0, 1), "of these under D", &T::hit_rate),
          traffic_key("latency_hidden", boolean(), "by parallelism", &T::hidden),
          traffic_key("exchanged", bytes(), "memory of CPU and device", &T::exchanged),
          traffic_key("device_only", bytes(), "memory of the device alone", &T::device_only),
          key<ProfileEntry>(
              "estimated", list_of(text()), "none", "those of these keys that were not counted",
              [](const ProfileEntry& entry) {
                return entry.traffic && !entry.traffic->estimated.empty() ? std::optional(entry.traffic->estimated)
                                                                          : std::nullopt;
              },
              [](ProfileEntry& entry, const std::vector<std::string>& names) {
                if (!entry.traffic) entry.traffic.emplace();
                entry.traffic->estimated = names;
              })};
}

std::int64_t as_number(std::uint32_t layer) { return layer; }
std::int64_t as_number(Duration time) { return time.count(); }

/// Makes the key of a list: one member of each measured piece (a run of layers).
template <class T>
Key<ProfileEntry> piece_key(std::string_view name, std::int64_t most, std::string_view meaning,
                            T MeasuredLayers::Piece::*member) {
  return key<ProfileEntry>(
      name, list_of(integer<std::int64_t>(0, most)), "none", meaning,
      [=](const ProfileEntry& entry) -> std::optional<std::vector<std::int64_t>> {
        if (entry.layers.each.empty()) return std::nullopt;
        std::vector<std::int64_t> numbers;
        for (const auto& piece : entry.layers.each) numbers.push_back(as_number(piece.*member));
        return numbers;
      },
      [=](ProfileEntry& entry, const std::vector<std::int64_t>& numbers) {
        entry.layers.each.resize(std::max(entry.layers.each.size(), numbers.size()));
        for (std::size_t i = 0; i < numbers.size(); ++i) entry.layers.each[i].*member = static_cast<T>(numbers[i]);
      });
}

std::vector<Key<ProfileEntry>> entry_keys() {
  using P = ProfileEntry;
  const auto time = duration(0ns, longest_interval);
  std::vector<Key<P>> keys = {
      key<P>("name", identifier(), required, "the task's name; one entry for each memory policy", &P::task),
      key<P>("memory_policy", one_of(spellings<MemoryPolicy>().subspan(1)), "where its device memory lay",
             &P::memory_policy),
      key<P>("workload", text(), required,
             "fingerprint of the measured workload, including its tuning; the entry is stale if the task's fingerprint "
             "differs",
             &P::workload),
      key<P>("wcet", time, required, "on the device: at least observed maximum times margin; 0ns: it is not used",
             part(&P::wcet, &Wcet::device)),
      key<P>("wcet_before", time, required, "of the CPU part before", part(&P::wcet, &Wcet::before)),
      key<P>("wcet_after", time, required, "of the CPU part after", part(&P::wcet, &Wcet::after)),
      key<P>("observed", time, required, "on the device: observed maximum", part(&P::observed, &Wcet::device)),
      key<P>("observed_before", time, required, "of the CPU part before", part(&P::observed, &Wcet::before)),
      key<P>("observed_after", time, required, "of the CPU part after", part(&P::observed, &Wcet::after)),
      key<P>("samples", integer<std::uint64_t>(1, std::numeric_limits<std::int64_t>::max()), required, "jobs measured",
             &P::samples),
      key<P>("margin", real(1, largest_margin), required, "minimum factor between the observed maximum and the WCET",
             &P::margin),
      key<P>(
          "tuning", list_of(text()), "default kernels",
          "the fastest implementations, which were then measured; lines of the workload's own",
          [](const P& entry) { return entry.tuning.empty() ? std::nullopt : std::optional(entry.tuning); },
          [](P& entry, const std::vector<std::string>& lines) { entry.tuning = lines; }),
      key<P>(
          "degraded", list_of(text()), "none", "real-time settings that the machine refused during the measurement",
          [](const P& entry) { return entry.degraded.empty() ? std::nullopt : std::optional(entry.degraded); },
          [](P& entry, const std::vector<std::string>& lines) { entry.degraded = lines; }),
      key<P>(
          "pieces", integer<std::uint64_t>(0, std::numeric_limits<std::int64_t>::max()), "0",
          "of the device part's layers that were measured each by itself",
          [](auto& entry) -> auto& { return entry.layers.pieces; }),
      key<P>(
          "pieces_sum", time, "0ns", "of the longest execution of each of them",
          [](auto& entry) -> auto& { return entry.layers.sum; }),
      piece_key("piece_ends", std::numeric_limits<std::uint32_t>::max(), "the number of the last layer of each of them",
                &MeasuredLayers::Piece::last_layer),
      piece_key("piece_longest", longest_interval.count(), "the longest execution of each in ns",
                &MeasuredLayers::Piece::longest),
  };
  keys.push_back(key<P>("wcet_beside", time, "not measured in a pair",
                        "on the device, with a concurrent job of another task", &P::wcet_beside));
  keys.push_back(key<P>("mapping_idle", time, "not measured",
                        "minimum part of that time in which the device part only waited", &P::mapping_idle));
  for (auto& key : basis_keys({"method", "exceedance", "block", "longest"}, &P::device)) keys.push_back(std::move(key));
  for (auto& key : basis_keys({"method_before", "exceedance_before", "block_before", "longest_before"}, &P::before))
    keys.push_back(std::move(key));
  for (auto& key : basis_keys({"method_after", "exceedance_after", "block_after", "longest_after"}, &P::after))
    keys.push_back(std::move(key));
  for (auto& key : traffic_keys()) keys.push_back(std::move(key));
  return keys;
}

const Schema<Profile>& profile_schema() {
  static const Schema<Profile> instance = schema<Profile>({
      table<Profile>("", std::identity{}, top_keys()),
      list<Profile>("task", &Profile::entries, &ProfileEntry::task, entry_keys(), as_read),
  });
  return instance;
}

void check_rules(const Profile& profile, Report& report) {
  using NameAndPolicy = std::pair<std::string, MemoryPolicy>;
  check_unique<NameAndPolicy>(
      "task", "name", profile.entries,
      [](const ProfileEntry& entry) {
        return NameAndPolicy{entry.task, entry.memory_policy};
      },
      [](const NameAndPolicy& entry) { return toml_string(entry.first); }, report);
  for (std::size_t i = 0; i < profile.entries.size(); ++i) {
    const auto& pieces = profile.entries[i].layers.each;
    const auto ascending = [](const auto& a, const auto& b) { return a.last_layer < b.last_layer; };
    const bool whole = std::ranges::all_of(pieces, [](const auto& piece) { return piece.longest > Duration(0); });
    if (!whole || std::ranges::adjacent_find(pieces, std::not_fn(ascending)) != pieces.end())
      report.error({.table = "task", .index = i, .key = "piece_ends"},
                   "piece_ends and piece_longest: must have the same length, and piece_ends must ascend");
    for (const auto& [key, part] :
         {std::pair{"block", &ProfileEntry::device}, std::pair{"block_before", &ProfileEntry::before},
          std::pair{"block_after", &ProfileEntry::after}})
      if (const std::uint64_t block = (profile.entries[i].*part).block; !std::has_single_bit(block))
        report.error({.table = "task", .index = i, .key = key},
                     std::string(key) + " = " + std::to_string(block) + ": not a power of two");
  }
}

} // namespace

Duration with_margin(Duration observed, double margin) {
  return Duration(static_cast<Duration::rep>(std::ceil(static_cast<double>(observed.count()) * margin)));
}

Result<Profile> parse_profile(std::string_view toml, const std::filesystem::path& file) {
  return parse(profile_schema(), toml, file, check_rules);
}

Result<Profile> read_profile(const std::filesystem::path& file) {
  return read_toml(file, Content::profile, parse_profile);
}

Result<std::string> profile_toml(const Profile& profile, const std::filesystem::path& file) {
  std::string text = "# Measured execution times.\n" + write(profile_schema(), profile);
  if (const auto readable_again = parse_profile(text, file); !readable_again) return Unexpected(readable_again.error());
  return text;
}

Result<> write_profile(const Profile& profile, const std::filesystem::path& file) {
  const auto text = profile_toml(profile, file);
  return text ? replace_file(file, *text) : Unexpected(text.error());
}

const ProfileEntry* entry_of(const Profile& profile, const std::string& task, MemoryPolicy policy) {
  const MemoryPolicy wanted = in_force(policy);
  const auto found = std::ranges::find_if(
      profile.entries, [&](const ProfileEntry& entry) { return entry.task == task && entry.memory_policy == wanted; });
  return found == profile.entries.end() ? nullptr : &*found;
}

void fill(Task& task, const ProfileEntry& entry) {
  task.wcet = entry.wcet;
  if (task.wcet_beside || !entry.wcet_beside) return;
  task.wcet_beside = std::max(*entry.wcet_beside, entry.wcet.device);
  if (waits_for_pages(task.memory_policy) && !task.mapping_idle && entry.mapping_idle)
    task.mapping_idle = std::min(*entry.mapping_idle, *task.wcet_beside);
}

ProfileEntry begun_entry(const Profile& profile, const std::string& task, MemoryPolicy policy,
                         const std::string& workload) {
  if (const ProfileEntry* entry = entry_of(profile, task, policy); entry != nullptr && entry->workload == workload)
    return *entry;
  ProfileEntry entry;
  entry.task = task;
  entry.memory_policy = in_force(policy);
  entry.workload = workload;
  return entry;
}

void add_degraded(ProfileEntry& entry, const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    if (std::ranges::find(entry.degraded, line) == entry.degraded.end()) entry.degraded.push_back(line);
}

namespace {

/// Returns the kind of workload in a fingerprint: "dnn-cuda-fp16" for "dnn-cuda-fp16-0123456789abcdef".
std::string_view kind_of(std::string_view fingerprint) {
  return fingerprint.substr(0, std::min(fingerprint.rfind('-'), fingerprint.size()));
}

/// Returns the difference between two fingerprints in words, as far as they show it: they contain the kind of workload
/// as text, and hashes of the rest.
std::string what_changed(std::string_view before, std::string_view now) {
  constexpr std::string_view tuning = "-tuned-";
  const std::string_view plain_before = before.substr(0, before.find(tuning)),
                         plain_now = now.substr(0, now.find(tuning));
  if (plain_before == plain_now) return "the tuning of its kernels";
  if (kind_of(plain_before) != kind_of(plain_now))
    return "its kind of workload, device or precision (" + toml_string(kind_of(plain_before)) + ", now " +
           toml_string(kind_of(plain_now)) + ")";
  return "its model, parameters, shared object, input files, or the types of its inputs and outputs";
}

} // namespace

Profile with_others(Profile profile, const Profile& before) {
  for (const ProfileEntry& entry : before.entries)
    if (entry_of(profile, entry.task, entry.memory_policy) == nullptr) profile.entries.push_back(entry);
  return profile;
}

Result<> check_same_place(const Profile& before, const Profile& later) {
  const std::string there = before.machine + ", " + before.device, here = later.machine + ", " + later.device;
  if (there == here) return {};
  return fail(Errc::bad_input, before.file.string() + ": error: it was measured on " + toml_string(there) +
                                   ", but this is " + toml_string(here) + "; measure again without --add");
}

Result<> apply_profile(TaskSet& tasks, const Profile& profile, const std::vector<std::string>& fingerprints) {
  if (fingerprints.size() != tasks.tasks.size())
    return fail(Errc::bad_input, "apply_profile: one fingerprint for each task is needed");
  std::string problems;
  TaskSet filled = tasks;
  for (std::size_t i = 0; i < filled.tasks.size(); ++i) {
    Task& task = filled.tasks[i];
    if (task.wcet) continue;
    const ProfileEntry* const entry = entry_of(profile, task.name, task.memory_policy);
    const std::string subject = profile.file.string() + ": error: task '" + task.name + "': ";
    if (entry == nullptr)
      problems += subject + "no measurement" +
                  (task.memory_policy == MemoryPolicy::managed || task.memory_policy == MemoryPolicy::host
                       ? " under memory policy " + std::string(spelling(task.memory_policy))
                       : "") +
                  "\n";
    else if (entry->workload != fingerprints[i])
      problems +=
          subject + "its measurement is out of date: " + what_changed(entry->workload, fingerprints[i]) + " changed\n";
    else fill(task, *entry);
  }
  if (!problems.empty())
    return fail(Errc::bad_input, problems + "run `rtexec profile " + shell_word(tasks.file.string()) +
                                     "`, or give wcet in the task set");
  tasks = std::move(filled);
  return {};
}

std::span<const KeyDoc> config::profile_keys() { return profile_schema().docs; }

} // namespace rtexec

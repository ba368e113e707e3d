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

/// Returns a function that accesses one part of an entry's WCET; `wcet` selects one of the entry's two Wcet members.
auto part(Wcet ProfileEntry::*wcet, Duration Wcet::*which) {
  return [=](auto& entry) -> auto& { return (entry.*wcet).*which; };
}

std::vector<Key<Profile>> top_keys() {
  return {key<Profile>("machine", text(), required, "machine on which the profile was measured", &Profile::machine),
          key<Profile>("device", text(), required, "name of the device on which the profile was measured",
                       &Profile::device)};
}

/// The names of the keys for the basis of one part's WCET. The basis is the measurements from which the WCET was
/// derived.
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
             "how the WCET was derived from the measured executions of the part that the key's suffix names (none: "
             "device part; _before, _after: CPU parts): growth: from the longest execution and its growth with the "
             "number of jobs; tail-model: from statistical models of the longest executions; layers: as the sum of the "
             "longest executions of the part's layers",
             of(&PartBasis::method)),
      key<P>(names.exceedance, real(0, 1), "0",
             "maximum probability, with 95 % confidence, that a job exceeds the WCET of this part; 0: not known",
             of(&PartBasis::exceedance)),
      key<P>(names.block, integer<std::uint64_t>(1, std::uint64_t{1} << 62), "1",
             "number of consecutive jobs in a block, a power of two; the key longest with the same suffix has one "
             "value for each block",
             of(&PartBasis::block)),
      key<P>(
          names.longest, list_of(integer<std::int64_t>(0, longest_interval.count())), "none",
          "for each block of consecutive jobs, the longest execution time of this part in ns; later measurements can "
          "add values",
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
      name, type, "none: only measured for micro-benchmarks of memory policies", meaning,
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
  return {traffic_key("bytes_in", bytes(), "amount of data that a job copies to the device under policy D", &T::in),
          traffic_key("bytes_out", bytes(),
                      "amount of data that a job copies from the device to the host under policy D", &T::out),
          traffic_key("copies", count, "number of copies of a job under policy D", &T::copies),
          traffic_key("launches", count, "number of kernel launches of a job", &T::launches),
          traffic_key("dirty_launches", count,
                      "number of a job's kernel launches that access data which the CPU wrote before the launch",
                      &T::dirty_launches),
          traffic_key("mapped", bytes(),
                      "amount of data that the kernel launches of dirty_launches access under policy M", &T::mapped),
          traffic_key("touched", bytes(),
                      "amount of the data exchanged between CPU and device that a job's kernel launches access",
                      &T::touched),
          traffic_key("written", bytes(),
                      "amount of the data exchanged between CPU and device that a job's kernel launches write",
                      &T::written),
          traffic_key("cache_accesses", count, "number of a job's accesses to the device's cache, in cache lines",
                      &T::cache_accesses),
          traffic_key("hit_rate", real(0, 1),
                      "share of the cache accesses that the device's cache serves under policy D", &T::hit_rate),
          traffic_key("latency_hidden", boolean(), "true: the parallelism of the kernels hides the latency of memory",
                      &T::hidden),
          traffic_key("exchanged", bytes(), "size of the memory that CPU and device exchange, each buffer counted once",
                      &T::exchanged),
          traffic_key("device_only", bytes(), "size of the memory that only the device uses", &T::device_only),
          key<ProfileEntry>(
              "estimated", list_of(text()), "none: all values were counted",
              "names of the keys, from bytes_in to device_only, whose values were estimated and not counted",
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

/// Makes the key of a list with one value for each measured piece (a run of layers). The value is a member of the
/// piece.
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
      key<P>("name", identifier(), required,
             "name of the task; a task has one [[task]] table for each measured memory policy", &P::task),
      key<P>("memory_policy", one_of(spellings<MemoryPolicy>().subspan(1)),
             "memory policy under which the task was measured: device memory (D), managed memory (M), host memory that "
             "the device accesses (H), or D/H",
             &P::memory_policy),
      key<P>("workload", text(), required,
             "fingerprint of the measured workload and its tuning. If the fingerprint of the task differs, this table "
             "is out of date and the task must be measured again",
             &P::workload),
      key<P>("wcet", time, required,
             "worst-case execution time of the device part, at least observed times margin; 0ns: the job does not use "
             "the device",
             part(&P::wcet, &Wcet::device)),
      key<P>("wcet_before", time, required, "worst-case execution time of the CPU part before the device part",
             part(&P::wcet, &Wcet::before)),
      key<P>("wcet_after", time, required, "worst-case execution time of the CPU part after the device part",
             part(&P::wcet, &Wcet::after)),
      key<P>("observed", time, required, "longest observed execution time of the device part",
             part(&P::observed, &Wcet::device)),
      key<P>("observed_before", time, required,
             "longest observed execution time of the CPU part before the device part",
             part(&P::observed, &Wcet::before)),
      key<P>("observed_after", time, required, "longest observed execution time of the CPU part after the device part",
             part(&P::observed, &Wcet::after)),
      key<P>("samples", integer<std::uint64_t>(1, std::numeric_limits<std::int64_t>::max()), required,
             "number of measured jobs", &P::samples),
      key<P>("margin", real(1, largest_margin), required,
             "minimum ratio of each WCET to the longest observed execution time", &P::margin),
      key<P>(
          "tuning", list_of(text()), "none: the workload's default kernels",
          "kernel implementations that tuning found to be the fastest and with which the task was measured, in the "
          "workload's own format",
          [](const P& entry) { return entry.tuning.empty() ? std::nullopt : std::optional(entry.tuning); },
          [](P& entry, const std::vector<std::string>& lines) { entry.tuning = lines; }),
      key<P>(
          "degraded", list_of(text()), "none: the machine granted all settings",
          "real-time settings that the machine refused during the measurement",
          [](const P& entry) { return entry.degraded.empty() ? std::nullopt : std::optional(entry.degraded); },
          [](P& entry, const std::vector<std::string>& lines) { entry.degraded = lines; }),
      key<P>(
          "pieces", integer<std::uint64_t>(0, std::numeric_limits<std::int64_t>::max()), "0: layers were not measured",
          "number of pieces of the device part that were measured separately; a piece is one layer, or several "
          "consecutive layers",
          [](auto& entry) -> auto& { return entry.layers.pieces; }),
      key<P>(
          "pieces_sum", time, "0ns",
          "sum of the longest execution times of all pieces, plus the longest time that a job spent outside the pieces",
          [](auto& entry) -> auto& { return entry.layers.sum; }),
      piece_key("piece_ends", std::numeric_limits<std::uint32_t>::max(),
                "for each piece, the number of its last layer; ascending", &MeasuredLayers::Piece::last_layer),
      piece_key("piece_longest", longest_interval.count(), "for each piece, its longest execution time in ns",
                &MeasuredLayers::Piece::longest),
  };
  keys.push_back(
      renamed("wcet_beside",
              key<P>("co_run_wcet", time, "none: not measured with a concurrent job",
                     "worst-case execution time of the device part while a job of another task executes concurrently",
                     &P::co_run_wcet)));
  keys.push_back(
      key<P>("mapping_idle", time, "none: not measured",
             "shortest measured part of co_run_wcet in which the device part only waited for pages of memory",
             &P::mapping_idle));
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
  if (task.co_run_wcet || !entry.co_run_wcet) return;
  task.co_run_wcet = std::max(*entry.co_run_wcet, entry.wcet.device);
  if (waits_for_pages(task.memory_policy) && !task.mapping_idle && entry.mapping_idle)
    task.mapping_idle = std::min(*entry.mapping_idle, *task.co_run_wcet);
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

/// Returns the kind of workload that a fingerprint begins with: "dnn-cuda-fp16" for "dnn-cuda-fp16-0123456789abcdef".
std::string_view kind_of(std::string_view fingerprint) {
  return fingerprint.substr(0, std::min(fingerprint.rfind('-'), fingerprint.size()));
}

/// Describes the difference between two fingerprints in words. Fingerprints contain the kind of workload as text, but
/// only hashes of everything else.
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

// Cpuset partitions, after Documentation/admin-guide/cgroup-v1/cpusets.rst and cgroup-v2.rst of the kernel.
//
// v1: a cpuset is a scheduling domain of its own if it is exclusive and no ancestor cpuset balances load. So load
// balancing must be off in the top cpuset. Another cpuset without threads, "rtexec-rest", balances the load of the
// remaining cores.
//
// v2: cpuset.cpus.partition = root makes the cpuset such a domain. Single threads move only within the process's
// threaded domain, and only the top may be both a threaded domain and a partition root. So the whole process moves to
// the top while the partition exists.
#include "hal/linux/partition.hpp"

#include "hal/linux/advice.hpp"
#include "hal/linux/lock_file.hpp"
#include "hal/resources.hpp"
#include "hal/system.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace rtexec::hal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "rtexec-";

bool has_word(const std::string& text, std::string_view word, char separator) {
  std::istringstream words(text);
  for (std::string each; std::getline(words, each, separator);) {
    if (each == word) return true;
  }
  return false;
}

constexpr std::string_view overlap_advice =
    "Another cpuset may hold the core: list them with `find /sys/fs/cgroup/cpuset -name cpuset.cpus | xargs grep .` "
    "and narrow those that overlap.";
constexpr std::string_view claim_advice =
    "Give the core to no other partition, run outside of containers, and leave the system at least one core.";

Result<> advised(Result<> outcome, std::string_view advice) {
  if (!outcome) outcome.error().what.append("\n").append(advice);
  return outcome;
}

class Cpusets final : public CpusetPartition {
 public:
  Cpusets(Machine machine, CpusetMount mount, std::vector<unsigned> cores)
      : machine_(std::move(machine)), mount_(std::move(mount)), cores_(std::move(cores)) {}
  ~Cpusets() override { (void)end(); }
  Cpusets(const Cpusets&) = delete;
  Cpusets& operator=(const Cpusets&) = delete;

  /// Keeps `lock`, which a process must hold to make or remove a partition. Until this object is destroyed, no other
  /// process makes a partition or removes this partition as left over.
  void hold(FileDescriptor lock) { lock_ = std::move(lock); }
  Result<> build() { return mount_.version == 1 ? build_v1() : build_v2(); }

  Result<> add(int kernel_id, unsigned core) override {
    if (std::ranges::find(cores_, core) == cores_.end()) {
      return fail(Errc::bad_input,
                  "The partition holds the cores " + core_list(cores_) + ", not core " + std::to_string(core) + ".");
    }
    const auto threads = folder(core) / threads_file();
    const std::string id = std::to_string(kernel_id);
    if (auto sent = machine_.send(threads, id); !sent) return sent;
    const auto members = machine_.read(threads);
    if (!members) return Unexpected(members.error());
    if (!has_word(*members, id, '\n'))
      return fail(Errc::refused, "Thread " + id + " was moved to " + threads.string() + ", but is not there.");
    return {};
  }

  Result<> end() override {
    Result<> outcome;
    while (!undo_.empty()) {
      const auto step = std::move(undo_.back());
      undo_.pop_back();
      if (auto undone = step(); !undone && outcome) outcome = undone;
    }
    return outcome;
  }

  /// Removes a partition that a killed process left. The settings before that partition are unknown, so load balancing
  /// is set to the kernel's default.
  Result<bool> clear() {
    home_ = mount_.top;
    auto left_over = clear_left_over();
    if (!left_over || !*left_over || mount_.version != 1) return left_over;
    if (auto balanced = machine_.write(mount_.top / "cpuset.sched_load_balance", "1"); !balanced)
      return Unexpected(balanced.error());
    return true;
  }

 private:
  [[nodiscard]] const char* threads_file() const { return mount_.version == 1 ? "tasks" : "cgroup.threads"; }
  [[nodiscard]] fs::path folder(unsigned core) const {
    return mount_.top / (std::string(prefix) + "core" + std::to_string(core));
  }

  Result<> build_v1() {
    const auto home = machine_.read("/proc/self/cpuset");
    if (!home) return Unexpected(home.error());
    home_ = mount_.top / fs::path(*home).relative_path();
    const auto rest = remaining_cores("cpuset.cpus");
    if (!rest) return Unexpected(rest.error());
    const auto left_over = clear_left_over();
    if (!left_over) return Unexpected(left_over.error());
    const auto mems = machine_.read(mount_.top / "cpuset.mems");
    if (!mems) return Unexpected(mems.error());
    for (const unsigned core : cores_) {
      if (auto made = make_v1(folder(core), {core}, *mems, true); !made) return made;
    }
    if (!rest->empty()) {
      if (auto made = make_v1(mount_.top / (std::string(prefix) + "rest"), *rest, *mems, false); !made) return made;
    }
    const auto balance = mount_.top / "cpuset.sched_load_balance";
    auto before = machine_.read(balance);
    if (!before) return Unexpected(before.error());
    if (*left_over) before = "1"; // the settings before the killed process are unknown; 1 is the kernel's default
    undo_.push_back([this, balance, value = *before] { return machine_.write(balance, value); });
    return machine_.write(balance, "0");
  }

  Result<> make_v1(const fs::path& where, const std::vector<unsigned>& cores, const std::string& mems, bool exclusive) {
    if (auto made = make(where); !made) return made;
    if (auto set = machine_.write(where / "cpuset.mems", mems); !set) return set;
    if (auto set = machine_.write(where / "cpuset.cpus", core_list(cores)); !set) return set;
    return exclusive ? advised(machine_.write(where / "cpuset.cpu_exclusive", "1"), overlap_advice) : Result<>{};
  }

  Result<> build_v2() {
    home_ = mount_.top;
    if (const auto rest = remaining_cores("cpuset.cpus.effective"); !rest) return Unexpected(rest.error());
    if (const auto left_over = clear_left_over(); !left_over) return Unexpected(left_over.error());
    if (auto enabled = enable_controller(); !enabled) return enabled;
    if (auto moved = move_process_to_top(); !moved) return moved;
    for (const unsigned core : cores_) {
      if (auto made = make(folder(core)); !made) return made;
      if (auto set = machine_.write(folder(core) / "cgroup.type", "threaded"); !set) return set;
      if (auto set = machine_.write(folder(core) / "cpuset.cpus", std::to_string(core)); !set) return set;
      if (auto set = claim(folder(core) / "cpuset.cpus.partition"); !set) return set;
    }
    return {};
  }

  /// Makes a cpuset a partition root. The undo list reverts this before the cpuset is removed, because the kernel frees
  /// the cores of a removed partition with a delay.
  Result<> claim(const fs::path& state) {
    undo_.push_back([this, state] { return machine_.write(state, "member"); });
    return advised(machine_.write(state, "root"), claim_advice);
  }

  Result<> enable_controller() {
    const auto control = mount_.top / "cgroup.subtree_control";
    const auto enabled = machine_.read(control);
    if (!enabled) return Unexpected(enabled.error());
    if (has_word(*enabled, "cpuset", ' ')) return {};
    undo_.push_back([this, control] { return machine_.send(control, "-cpuset"); });
    return machine_.send(control, "+cpuset");
  }

  Result<> move_process_to_top() {
    const auto membership = machine_.read("/proc/self/cgroup");
    if (!membership) return Unexpected(membership.error());
    const auto home = field(*membership, "0::");
    if (!home || *home == "/") return {};
    const std::string process = std::to_string(::getpid());
    const auto back = mount_.top / fs::path(*home).relative_path() / "cgroup.procs";
    undo_.push_back([this, back, process] { return machine_.send(back, process); });
    return machine_.send(mount_.top / "cgroup.procs", process);
  }

  /// Returns the cores that the partition leaves to the system. Returns an error if a core of the partition is not
  /// available.
  Result<std::vector<unsigned>> remaining_cores(const char* file) {
    const auto text = machine_.read(mount_.top / file);
    if (!text) return Unexpected(text.error());
    auto cores = parse_core_list(*text);
    if (!cores) return cores;
    for (const unsigned core : cores_) {
      if (std::erase(*cores, core) == 0) {
        return fail(Errc::refused, "Core " + std::to_string(core) +
                                       " cannot be used for a partition: " + (mount_.top / file).string() + " has " +
                                       *text + ".\nName existing cores, each once, and in no other partition.");
      }
    }
    return cores;
  }

  /// Removes cpusets of rtexec without threads: the process that made them was killed. Returns true if there were such
  /// cpusets.
  Result<bool> clear_left_over() {
    bool found = false;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(machine_.under_root(mount_.top), error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(prefix)) continue;
      const auto threads = machine_.read(mount_.top / name / threads_file());
      if (!threads) return Unexpected(threads.error());
      if (!threads->empty()) {
        return fail(Errc::refused, "Another partition is in use: threads run in " + entry.path().string() +
                                       ".\nEnd that program first: one partition is made at a time.");
      }
      if (auto removed = remove(mount_.top / name); !removed) return Unexpected(removed.error());
      found = true;
    }
    if (error) return call_failed("listing " + mount_.top.string(), error.value());
    return found;
  }

  Result<> make(const fs::path& where) {
    if (sys().mkdir(machine_.under_root(where).c_str(), 0755) != 0) {
      return call_failed("making " + where.string(), errno, partition_advice());
    }
    undo_.push_back([this, where] { return remove(where); });
    return {};
  }

  /// Removes a cpuset. Tries repeatedly, because a joined thread may still be exiting in the kernel.
  Result<> remove(const fs::path& where) {
    int error = 0;
    for (int attempt = 0; attempt < 200; ++attempt) {
      send_home(where);
      if (sys().rmdir(machine_.under_root(where).c_str()) == 0) return {};
      error = errno;
      if (error != EBUSY) break;
      sleep_until(now() + std::chrono::milliseconds(1));
    }
    return call_failed("removing " + where.string(), error,
                       "End its SCHED_DEADLINE threads first, then remove the folder with rmdir.");
  }

  void send_home(const fs::path& from) {
    std::istringstream members(machine_.read(from / threads_file()).value_or(""));
    // A thread may end during the loop, so errors are ignored
    for (std::string id; std::getline(members, id);) (void)machine_.send(home_ / threads_file(), id);
  }

  Machine machine_;
  CpusetMount mount_;
  std::vector<unsigned> cores_;
  fs::path home_; // the cpuset to which threads return
  std::vector<std::function<Result<>()>> undo_;
  FileDescriptor lock_;
};

/// Takes root's lock, which is held while a partition is made and exists. Returns nullopt if another process holds the
/// lock. Returns an error if no lock is possible: the machine has no /run, or the user is not root.
Result<std::optional<FileDescriptor>> partition_lock(const Machine& machine) {
  const fs::path folder = machine.under_root(lock_folder);
  if (!fs::is_directory(folder.parent_path())) return fail(Errc::unsupported, "there is no /run for locks");
  if (const auto made = make_lock_folder(folder); !made) return Unexpected(made.error());
  return lock_file(folder / "partition");
}

} // namespace

Result<CpusetMount> find_cpusets(const Machine& machine) {
  const auto mounts = machine.read("/proc/mounts");
  if (!mounts) return Unexpected(mounts.error());
  std::istringstream lines(*mounts);
  std::string device, point, type, options, rest;
  while (lines >> device >> point >> type >> options && std::getline(lines, rest)) {
    if (type == "cgroup" && has_word(options, "cpuset", ',')) return CpusetMount{point, 1};
    if (type == "cgroup2" &&
        has_word(machine.read(fs::path(point) / "cgroup.controllers").value_or(""), "cpuset", ' ')) {
      return CpusetMount{point, 2};
    }
  }
  return fail(Errc::unsupported,
              "No cgroup file system has the controller cpuset.\nMount one (mount -t cgroup2 none /sys/fs/cgroup), or "
              "build the "
              "kernel with CONFIG_CPUSETS.");
}

Result<std::unique_ptr<CpusetPartition>> Machine::partition(const std::vector<unsigned>& cores) const {
  auto mount = find_cpusets(*this);
  if (!mount) return Unexpected(mount.error());
  auto lock = partition_lock(*this);
  if (lock && !*lock)
    return fail(Errc::refused, "Another run has a partition: one is made at a time.\nWait for it to end.");
  auto cpusets = std::make_unique<Cpusets>(*this, std::move(*mount), cores);
  if (lock) cpusets->hold(std::move(**lock));
  if (auto built = cpusets->build(); !built) return Unexpected(built.error());
  return cpusets;
}

Result<bool> Machine::clear_left_over_partition() const {
  auto mount = find_cpusets(*this);
  if (!mount) return false;
  auto lock = partition_lock(*this);
  if (!lock || !*lock) return false;
  Cpusets cpusets(*this, std::move(*mount), {});
  return cpusets.clear();
}

} // namespace rtexec::hal

#include "test/hal/fake_cgroups.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace rtexec::hal::test {

namespace fs = std::filesystem;

using rtexec::test::write_text;

FakeCgroups::FakeCgroups(int version, const std::string& home)
    : version_(version),
      top_(folder_ / (version == 1 ? "sys/fs/cgroup/cpuset" : "sys/fs/cgroup")),
      table_(linux_system()),
      override_(table_) {
  self_ = this;
  // Acts as a cgroup file system.
  table_.open = [](const char* path, int flags) { return ::open(path, flags & ~O_TRUNC); };
  table_.mkdir = [](const char* path, mode_t) { return self_->on_mkdir(path); };
  table_.rmdir = [](const char* path) { return self_->on_rmdir(path); };
  table_.write = [](int file, const void* from, std::size_t size) { return self_->on_write(file, from, size); };
  fs::create_directories(top_);
  if (version == 1) {
    write_text(folder_ / "/proc/mounts", "cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n");
    write_text(folder_ / "/proc/self/cpuset", home + "\n");
    write("cpuset.cpus", "0-3");
    write("cpuset.mems", "0");
    write("cpuset.sched_load_balance", "1");
  } else {
    write_text(folder_ / "/proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,relatime 0 0\n");
    write_text(folder_ / "/proc/self/cgroup", "0::" + home + "\n");
    write("cgroup.controllers", "cpuset cpu memory");
    write("cgroup.subtree_control", "cpu memory");
    write("cgroup.procs", "");
    write("cpuset.cpus.effective", "0-3");
  }
  threads_[top_];
  if (home != "/") make_group(home.substr(1));
  render_threads();
}

FakeCgroups::~FakeCgroups() { self_ = nullptr; }

namespace {
std::string without_line_end(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}
} // namespace

std::string FakeCgroups::read(const std::string& file) const {
  return without_line_end(rtexec::test::read_text(top_ / file));
}

void FakeCgroups::write(const std::string& file, const std::string& text) { write_text(top_ / file, text + "\n"); }

void FakeCgroups::populate(const fs::path& group) {
  fs::create_directories(group);
  if (version_ == 1) {
    for (const char* file : {"cpuset.cpus", "cpuset.mems"}) write_text(group / file, "");
    write_text(group / "cpuset.cpu_exclusive", "0\n");
    write_text(group / "cpuset.sched_load_balance", "1\n");
  } else {
    write_text(group / "cgroup.procs", "");
    write_text(group / "cgroup.type", "domain\n");
    write_text(group / "cpuset.cpus", "");
    write_text(group / "cpuset.cpus.partition", "member\n");
  }
  threads_[group];
  render_threads();
}

void FakeCgroups::render_threads() {
  for (const auto& [group, members] : threads_) {
    std::string text;
    for (const auto& each : members) text += each + "\n";
    write_text(group / (version_ == 1 ? "tasks" : "cgroup.threads"), text);
  }
}

bool FakeCgroups::fails_now() {
  if (++changes != fail_at) return false;
  errno = EACCES;
  return true;
}

int FakeCgroups::on_mkdir(const char* path) {
  if (fails_now()) return -1;
  if (fs::exists(path)) {
    errno = EEXIST;
    return -1;
  }
  populate(path);
  return 0;
}

int FakeCgroups::on_rmdir(const char* path) {
  if (!threads_[path].empty()) {
    errno = EBUSY;
    return -1;
  }
  threads_.erase(path);
  fs::remove_all(path);
  return 0;
}

ssize_t FakeCgroups::on_write(int file, const void* from, std::size_t size) {
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(file));
  const std::string text(static_cast<const char*>(from), size);
  journal.push_back(fs::relative(path, top_).string() + "=" + text);
  if (fails_now()) return -1;
  const std::string name = path.filename();
  if (name == "tasks" || name == "cgroup.threads") {
    if (!threads_stay) {
      for (auto& [group, members] : threads_) members.erase(text);
      threads_[path.parent_path()].insert(text);
    }
    render_threads();
  } else if (name == "cgroup.subtree_control") {
    write_text(path, text == "+cpuset" ? "cpuset cpu memory\n" : "cpu memory\n");
  } else if (name == "cpuset.cpus.partition" && text == "root" && !invalid.empty()) {
    write_text(path, "root invalid (" + invalid + ")\n");
  } else if (name != "cgroup.procs") {
    write_text(path, text + "\n");
  }
  return static_cast<ssize_t>(size);
}

std::map<std::string, std::string> FakeCgroups::snapshot() const {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    if (entry.is_regular_file()) files[entry.path().string()] = without_line_end(rtexec::test::read_text(entry.path()));
  }
  return files;
}

} // namespace rtexec::hal::test

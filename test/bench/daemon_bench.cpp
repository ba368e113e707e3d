// The cost for a process of being rtexecd's client, compared with Table V of RT-Swap's paper. It measures the time from
// request to grant on an idle system, against a round trip through two named pipes, as RT-Swap's library and scheduler
// communicate; and an allocation.
#include <rtexec/board.hpp>
#include <rtexec/planning.hpp>

#include "config/base/descriptor.hpp"
#include "hal/thread.hpp"
#include "rtexec/sharing/client/arena.hpp"
#include "rtexec/sharing/client/client.hpp"
#include "rtexec/sharing/daemon/server.hpp"
#include "rtexec/sharing/daemon/set_up.hpp"
#include "test/bench/statistics.hpp"
#include "test/rtexec/sharing/host_client_memory.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using namespace rtexec;
using namespace std::chrono_literals;
using client::Client;
using client::test::HostClientMemory;

constexpr std::size_t chunk = 2 << 20;
constexpr std::uint32_t slots = 8;

template <class T> T demand(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().what);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
void demand(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

double us(Duration time) { return static_cast<double>(time.count()) * 1e-3; }

void print(const char* what, const std::vector<double>& times) {
  std::printf("  %-52s mean %7.2f  p50 %7.2f  p99 %7.2f  max %7.2f us\n", what, bench::mean(times),
              bench::median(times), bench::percentile(times, 0.99), bench::percentile(times, 1));
}

/// A process that ends with this one, or with the object.
class Child {
 public:
  explicit Child(const std::function<void()>& body) {
    std::fflush(stdout);
    process_ = ::fork();
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = 0;
    try {
      body();
      std::fflush(stdout);
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "daemon-bench: %s\n", problem.what());
      code = 1;
    }
    ::_exit(code);
  }
  ~Child() {
    if (process_ > 0 && !waited_) ::kill(process_, SIGKILL), ::waitpid(process_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void wait() {
    int status = 0;
    waited_ = ::waitpid(process_, &status, 0) == process_;
    demand(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child failed");
  }

 private:
  pid_t process_ = -1;
  bool waited_ = false;
};

/// Runs rtexecd itself.
void serve(const std::filesystem::path& directory, bool keep_awake) {
  config::DaemonSettings file;
  file.board = "host";
  file.daemon.directory = directory;
  file.daemon.keep_awake = keep_awake;
  file.device.capacity = Bytes{slots * chunk};
  file.device.chunk = Bytes{chunk};
  file.daemon.best_effort_wcet = 10s;
  auto options = demand(daemon::set_up(file, demand(read_board("host")), this_machine()));
  auto server = demand(daemon::Server::open(options));
  if (const auto locked = hal::lock_memory(); !locked) std::printf("  degraded: %s\n", locked.error().what.c_str());
  if (options.priority == 0) std::printf("  degraded: threads may not be SCHED_FIFO\n");
  demand(server->run());
}

std::unique_ptr<Client> connect(const std::filesystem::path& directory, HostClientMemory& memory) {
  for (int attempt = 0;; ++attempt) {
    auto client = Client::connect({.directory = directory,
                                   .name = "bench",
                                   .granularity = Bytes{4096},
                                   .takes_chunks = true,
                                   .hurry = {},
                                   .notice = {}},
                                  memory);
    if (client) return std::move(*client);
    if (attempt == 500) throw std::runtime_error(client.error().what);
    std::this_thread::sleep_for(10ms);
  }
}

/// Another process that answers each byte.
class Pipes {
 public:
  explicit Pipes(const std::filesystem::path& folder) : there_(folder / "there"), back_(folder / "back") {
    demand(::mkfifo(there_.c_str(), 0600) == 0 && ::mkfifo(back_.c_str(), 0600) == 0, "mkfifo failed");
    scheduler_ = std::make_unique<Child>([&] {
      const config::Descriptor in(::open(there_.c_str(), O_RDONLY | O_CLOEXEC));
      const config::Descriptor out(::open(back_.c_str(), O_WRONLY | O_CLOEXEC));
      for (char byte = 0; ::read(in.get(), &byte, 1) == 1;) demand(::write(out.get(), &byte, 1) == 1, "write failed");
    });
    out_ = config::Descriptor(::open(there_.c_str(), O_WRONLY | O_CLOEXEC));
    in_ = config::Descriptor(::open(back_.c_str(), O_RDONLY | O_CLOEXEC));
  }
  void ask() const {
    char byte = 1;
    demand(::write(out_.get(), &byte, 1) == 1 && ::read(in_.get(), &byte, 1) == 1, "the pipe broke");
  }

 private:
  std::filesystem::path there_, back_;
  std::unique_ptr<Child> scheduler_;
  config::Descriptor out_, in_;
};

void measure_grant(const std::filesystem::path& directory) {
  HostClientMemory memory(slots, chunk);
  const auto client = connect(directory, memory);
  demand(client->grow(1));
  const Pipes peer(directory.parent_path());
  std::vector<double> grants, ends, pipes;
  for (int i = 0; i < 5000; ++i) {
    std::this_thread::sleep_for(200us);
    const Instant asked = hal::now();
    demand(client->begin(), "a job failed");
    const Instant granted = hal::now();
    client->end();
    ends.push_back(us(hal::now() - granted));
    grants.push_back(us(granted - asked));
    std::this_thread::sleep_for(200us);
    const Instant begin = hal::now();
    peer.ask();
    pipes.push_back(us(hal::now() - begin));
  }
  print("request to grant, idle (paper 22.7 mean, 55.6 max)", grants);
  print("end of a job", ends);
  print("round trip through two named pipes, in turn", pipes);
  std::printf("  ratio of the medians %.2f, of p99 %.2f\n", bench::median(grants) / bench::median(pipes),
              bench::percentile(grants, 0.99) / bench::percentile(pipes, 0.99));
}

void measure_allocation() {
  client::Arena arena(512, Bytes{64 << 20});
  std::mt19937_64 random(1);
  std::vector<Bytes> objects;
  std::vector<double> allocations, frees;
  for (int i = 0; i < 100'000; ++i) {
    if (objects.size() < 1000 || (random() % 2 == 0 && objects.size() < 3000)) {
      const Bytes size{1 + (std::uint64_t{1} << random() % 24)};
      const Instant begin = hal::now();
      const auto block = arena.allocate(size);
      allocations.push_back(us(hal::now() - begin));
      demand(block.has_value(), "the arena is full");
      objects.push_back(block->offset);
    } else {
      std::swap(objects[random() % objects.size()], objects.back());
      const Instant begin = hal::now();
      demand(arena.free(objects.back()), "an object was not there");
      frees.push_back(us(hal::now() - begin));
      objects.pop_back();
    }
  }
  print("an allocation, 1000 to 3000 objects (paper 3.5, 8)", allocations);
  print("a free", frees);
}

} // namespace

int main() {
  std::array<char, 32> name{"/tmp/daemon-bench.XXXXXX"};
  try {
    const std::filesystem::path folder = ::mkdtemp(name.data());
    for (const bool keep_awake : {false, true}) {
      std::printf(" keep_awake = %s\n", keep_awake ? "true" : "false");
      const std::filesystem::path directory = folder / (keep_awake ? "awake" : "asleep") / "run";
      std::filesystem::create_directory(directory.parent_path());
      Child server([&] { serve(directory, keep_awake); });
      Child([&] { measure_grant(directory); }).wait(); // rtexecd kills a client that disconnects and continues to run
    }
    measure_allocation();
    std::filesystem::remove_all(folder);
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "daemon-bench: %s\n", problem.what());
    return 1;
  }
}

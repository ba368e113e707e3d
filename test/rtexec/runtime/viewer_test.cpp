// Tests the page and the pictures of a run, over real sockets and a real folder.
#include "rtexec/runtime/view/viewer.hpp"

#include "hal/machine_files.hpp"
#include "rtexec/runtime/planning/executive_setup.hpp"
#include "rtexec/studies/single/inference.hpp"
#include "tasks/engine/models/models.hpp"
#include "tasks/media/draw.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/file_size_limit.hpp"
#include "test/support/test_files.hpp"
#include "test/support/expected_result.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace rtexec {
namespace {

using namespace test;
using channels::PictureObserver;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using view::Viewer;

constexpr int side = 64;

/// A client that uses system calls only.
class Connection {
 public:
  explicit Connection(std::uint16_t port, const char* address = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    ::inet_pton(AF_INET, address, &to.sin_addr);
    timeval timeout{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  Connection(Connection&& other) noexcept : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_) {}
  Connection& operator=(Connection&&) = delete;
  ~Connection() {
    if (socket_ >= 0) ::close(socket_);
  }
  [[nodiscard]] bool connected() const { return connected_; }
  void send(std::string_view text) const { (void)::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  /// Receives until the server closes.
  [[nodiscard]] std::string receive() const {
    std::string all;
    std::array<char, 65536> part{};
    for (ssize_t n = 0; (n = ::recv(socket_, part.data(), part.size(), 0)) > 0;)
      all.append(part.data(), static_cast<std::size_t>(n));
    return all;
  }

 private:
  int socket_;
  bool connected_ = false;
};

std::uint16_t port_of(const Viewer& viewer) {
  const std::string url = viewer.url();
  return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

std::string ask(std::uint16_t port, const std::string& path, const std::string& host = "localhost",
                const std::string& method = "GET") {
  const Connection connection(port);
  connection.send(method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  return connection.receive();
}

std::string body_of(const std::string& answer) {
  const auto end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

/// A detector on the host device. Each of its jobs gets the same known picture.
class Front {
 public:
  Front() {
    EXPECT_EQ(problem(tasks::write_model("yolov3-tiny", {.size = side, .classes = 3, .seed = 3}, model())), "none");
    picture_ = {{side, side}, std::vector<std::uint8_t>(3 * side * side)};
    for (std::size_t i = 0; i < picture_.rgb.size(); ++i)
      picture_.rgb[i] = static_cast<std::uint8_t>(i / 3 % side * 37 + i / 3 / side * 11 + i % 3 * 91);
    EXPECT_EQ(problem(tasks::write_png(picture_, png())), "none");
  }
  [[nodiscard]] std::string model() const { return (folder_ / "net.onnx").string(); }
  [[nodiscard]] std::string png() const { return (folder_ / "p.png").string(); }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return folder_ / name; }

  Executive executive(const std::shared_ptr<PictureObserver>& observer, Duration duration) const {
    Task task = own_task("front", 50ms);
    task.workload = WorkloadKind::dnn;
    task.model = model();
    task.input = png();
    task.wcet = Wcet{.before = 5ms, .device = 20ms, .after = 5ms};
    executive::Setup setup;
    setup.force = true;
    setup.observer = observer;
    return executive::create(set_of({task}, duration), std::move(setup)).value();
  }

  /// Returns the picture with the network's own detections, as JPEG.
  [[nodiscard]] std::string expected() const {
    auto alone = study::Inference::load({.model = model()}, read_board("host").value(), {});
    EXPECT_EQ(problem(alone), "none");
    const std::array<std::string, 1> files{png()};
    EXPECT_EQ(problem(alone->fetch_inputs(files)), "none");
    EXPECT_EQ(problem(alone->run(1)), "none");
    EXPECT_GE(alone->workload().detections().size(), 1u);
    tasks::Picture drawn = picture_;
    tasks::draw(drawn, alone->workload().detections());
    std::vector<std::byte> jpeg;
    tasks::encode_jpeg(drawn, jpeg);
    return {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()};
  }

 private:
  ScratchFolder folder_;
  tasks::Picture picture_;
};

std::unique_ptr<Viewer> started(const std::shared_ptr<PictureObserver>& observer, view::ViewerOptions options = {}) {
  auto viewer = Viewer::start(observer, std::move(options));
  EXPECT_EQ(problem(viewer), "none");
  return std::move(*viewer);
}

/// Returns a connected tap without a run.
std::shared_ptr<PictureObserver> connected(const Workload& workload) {
  auto observer = std::make_shared<PictureObserver>("front");
  EXPECT_EQ(problem(observer->connect({}, workload)), "none");
  return observer;
}

OwnWorkload picture_workload(std::int64_t size = side) {
  return {{{"image", ElementType::uint8, {1, 3, size, size}}}, {}, [](auto, auto, auto) {}};
}

TEST(Viewer, ShowsDetectionsOfRunningDetector) {
  const Front front;
  const std::string expected = front.expected();
  const auto observer = std::make_shared<PictureObserver>("front");
  Executive executive = front.executive(observer, 1h);
  const auto viewer = started(observer);
  const std::uint16_t port = port_of(*viewer);
  EXPECT_THAT(ask(port, "/picture.jpg"), StartsWith("HTTP/1.1 503 "));
  ASSERT_EQ(problem(executive.start()), "none");
  const auto state = [&] { return nlohmann::json::parse(body_of(ask(port, "/state.json"))); };
  (void)expect_real_time(executive, [&] {
    ASSERT_TRUE(eventually([&] { return state()["rate"] > 0; }));
    const auto now = state();
    EXPECT_EQ(now["task"], "front");
    EXPECT_GE(now["boxes"], 1);
    EXPECT_GE(now["job"], 1);
    EXPECT_LE(now["rate"], 12);
    const auto later = now["picture"].get<std::uint64_t>() + 2;
    EXPECT_TRUE(eventually([&] { return state()["picture"] >= later; }));

    const std::string page = ask(port, "/");
    EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK"));
    EXPECT_THAT(page, HasSubstr("Content-Type: text/html"));
    EXPECT_THAT(page, HasSubstr("picture.jpg"));
    const std::string jpeg = ask(port, "/picture.jpg?7");
    EXPECT_THAT(jpeg, HasSubstr("Content-Type: image/jpeg"));
    EXPECT_TRUE(body_of(jpeg) == expected);
  });
}

TEST(Viewer, ListensOnLoopbackAddressOnly) {
  const auto workload = picture_workload();
  const auto viewer = started(connected(workload));
  const std::uint16_t port = port_of(*viewer);
  EXPECT_THAT(viewer->url(), StartsWith("http://127.0.0.1:"));
  char local[32];
  std::snprintf(local, sizeof local, " 0100007F:%04X 00000000:0000 0A", port);
  EXPECT_THAT(read_text("/proc/self/net/tcp"), HasSubstr(local));
  std::snprintf(local, sizeof local, " 00000000:%04X ", port);
  EXPECT_THAT(read_text("/proc/self/net/tcp"), testing::Not(HasSubstr(local)));
  EXPECT_TRUE(Connection(port).connected());
  EXPECT_FALSE(Connection(port, "127.0.0.2").connected());
}

TEST(Viewer, RejectsForeignHostAndInvalidRequests) {
  const auto workload = picture_workload();
  const auto viewer = started(connected(workload));
  const std::uint16_t port = port_of(*viewer);
  for (const char* host : {"localhost", "127.0.0.1", "localhost:9000", "127.0.0.1:80"})
    EXPECT_THAT(ask(port, "/", host), StartsWith("HTTP/1.1 200 ")) << host;
  for (const char* host : {"robot.example", "127.0.0.1.example", "", "localhost.example:80"})
    EXPECT_THAT(ask(port, "/", host), StartsWith("HTTP/1.1 403 ")) << host;
  EXPECT_THAT(ask(port, "/../etc/passwd"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(port, "/", "localhost", "POST"), StartsWith("HTTP/1.1 405 "));
  const Connection nonsense(port);
  nonsense.send("nonsense\r\n\r\n");
  EXPECT_EQ(nonsense.receive(), "");
  const Connection endless(port);
  endless.send("GET /" + std::string(100'000, 'a'));
  (void)endless.receive(); // closed by the server
  EXPECT_THAT(ask(port, "/"), StartsWith("HTTP/1.1 200 "));
}

TEST(Viewer, ServesSeveralRequestsPerConnection) {
  const auto workload = picture_workload();
  const auto viewer = started(connected(workload));
  const Connection connection(port_of(*viewer));
  connection.send(
      "GET /state.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string answers = connection.receive();
  EXPECT_THAT(answers, HasSubstr("HTTP/1.1 200 "));
  EXPECT_THAT(answers, HasSubstr("HTTP/1.1 404 "));
}

/// Clients that hang do not lock out others, and do not prevent the end.
TEST(Viewer, HangingClientsBlockNeitherOthersNorEnd) {
  auto workload = picture_workload(1024);
  std::mt19937 random(1);
  for (auto& byte : workload.inputs()[0].as<std::uint8_t>()) byte = static_cast<std::uint8_t>(random());
  const auto observer = connected(workload);
  observer->take({});
  auto viewer = started(observer);
  const std::uint16_t port = port_of(*viewer);
  std::vector<Connection> hanging;
  for (int i = 0; i < 40; ++i) {
    hanging.emplace_back(port);
    // Such a client never reads its megabytes, or never completes its request.
    if (i % 2 == 0)
      for (int k = 0; k < 20; ++k) hanging.back().send("GET /picture.jpg HTTP/1.1\r\nHost: localhost\r\n\r\n");
    else hanging.back().send("GET / HT");
  }
  EXPECT_TRUE(eventually([&] { return ask(port, "/").starts_with("HTTP/1.1 200 "); }));
  for (int i = 0; i < 8; ++i) hanging.emplace_back(port);
  const auto begin = std::chrono::steady_clock::now();
  viewer.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s) << "they are left after 5 s";
}

TEST(Viewer, FolderNeverContainsPartialPicture) {
  const Front front;
  const auto observer = std::make_shared<PictureObserver>("front");
  Executive executive = front.executive(observer, 2500ms);
  const auto viewer = started(observer, {.folder = front / "shown/here"});
  const std::filesystem::path file = front / "shown/here/front.jpg";
  EXPECT_EQ(viewer->file(), file);
  EXPECT_FALSE(std::filesystem::exists(file));
  std::atomic<bool> ended{false};
  std::set<std::string> different;
  std::size_t looks = 0, broken = 0;
  std::thread looker([&] {
    while (!ended.load()) {
      if (!std::filesystem::exists(file)) continue;
      const std::string jpeg = read_text(file);
      ++looks;
      broken += !jpeg.starts_with("\xff\xd8\xff") || !jpeg.ends_with("\xff\xd9");
      struct stat found {};
      if (::stat(file.c_str(), &found) == 0) different.insert(std::to_string(found.st_ino));
    }
  });
  ASSERT_EQ(problem(executive.start()), "none");
  (void)expect_real_time(executive, [&] { executive.wait(); });
  ended.store(true);
  looker.join();
  EXPECT_GT(looks, 10u);
  EXPECT_EQ(broken, 0u);
  EXPECT_GT(different.size(), 1u);
  EXPECT_FALSE(viewer->news());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}), 1);
  EXPECT_TRUE(read_text(file) == front.expected());
}

TEST(Viewer, ReportsRemovedFolderOnceAndRetries) {
  const ScratchFolder folder;
  const auto workload = picture_workload();
  const auto observer = connected(workload);
  const auto viewer = started(observer, {.folder = folder / "here"});
  const auto file = folder / "here/front.jpg";
  observer->take({});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file); }));
  EXPECT_FALSE(viewer->news());
  std::filesystem::remove_all(folder / "here");
  std::optional<std::string> news;
  const auto goes_on = [&] { observer->take({}); };
  EXPECT_TRUE(eventually([&] { return goes_on(), (news = viewer->news()).has_value(); }));
  EXPECT_THAT(*news, HasSubstr(file.string() + ": error: cannot write it: No such file or directory"));
  EXPECT_THAT(body_of(ask(port_of(*viewer), "/state.json")), HasSubstr("No such file or directory"));
  std::filesystem::create_directory(folder / "here");
  EXPECT_TRUE(eventually([&] { return goes_on(), std::filesystem::exists(file); }));
  EXPECT_FALSE(viewer->news());
}

TEST(Viewer, ReportsFullDiskOnceAndKeepsOldPicture) {
  const ScratchFolder folder;
  const auto workload = picture_workload();
  const auto observer = connected(workload);
  const auto viewer = started(observer, {.folder = folder.path()});
  const auto file = folder / "front.jpg";
  observer->take({});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file); }));
  const std::string old = read_text(file);
  std::optional<std::string> news;
  {
    const FileSizeLimit full(0);
    EXPECT_TRUE(eventually([&] { return observer->take({}), (news = viewer->news()).has_value(); }));
  }
  EXPECT_THAT(*news, HasSubstr("the old file is unchanged: File too large"));
  EXPECT_EQ(read_text(file), old);
  EXPECT_FALSE(viewer->news());
}

TEST(Viewer, RefusesUnavailablePortOrFolder) {
  const ScratchFolder folder;
  const auto workload = picture_workload();
  const auto observer = connected(workload);
  const auto first = started(observer);
  const auto second = Viewer::start(observer, {.port = port_of(*first)});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::refused);
  EXPECT_THAT(second.error().what, HasSubstr(std::to_string(port_of(*first)) + " of 127.0.0.1"));
  EXPECT_THAT(second.error().what, HasSubstr("in use"));
  write_text(folder / "file", "");
  const auto third = Viewer::start(observer, {.folder = folder / "file/below"});
  ASSERT_FALSE(third);
  EXPECT_THAT(third.error().what, HasSubstr("file/below: error: cannot make this folder: Not a directory"));
}

TEST(Viewer, RunsWithoutPriorityOutsideCoresOfTaskSet) {
  const auto workload = picture_workload();
  const std::vector<unsigned> all = hal::Machine().online_cores();
  if (all.size() < 2) GTEST_SKIP() << "there is one core";
  const auto viewer = started(connected(workload), {.cores = {all.front()}});
  int threads = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (read_text(thread.path() / "comm") != "show\n") continue;
    ++threads;
    const auto id = std::stoi(thread.path().filename());
    EXPECT_EQ(::sched_getscheduler(id), SCHED_OTHER);
    cpu_set_t cores;
    ASSERT_EQ(::sched_getaffinity(id, sizeof cores, &cores), 0);
    EXPECT_EQ(static_cast<std::size_t>(CPU_COUNT(&cores)), all.size() - 1);
    EXPECT_FALSE(CPU_ISSET(all.front(), &cores));
  }
  EXPECT_EQ(threads, 1);
}

} // namespace
} // namespace rtexec

// A known picture enters through every source. The output of every sink is, bit by bit, what the network alone computes
// of it. Meanwhile no thread of the run allocates or faults.
#include "rtexec/runtime/channels/iceoryx.hpp"
#include "rtexec/runtime/channels/iceoryx_binding.hpp"
#include "rtexec/studies/single/inference.hpp"
#include "tasks/media/npy.hpp"
#include "tasks/media/input.hpp"
#include "tasks/media/mjpg.hpp"
#include "tasks/engine/models/models.hpp"
#include "tasks/media/draw.hpp"
#include "test/hal/fake_camera.hpp"
#include "test/hal/gpu.hpp"
#include "test/rtexec/runtime/isolated.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/rtexec/runtime/real_time.hpp"
#include "test/rtexec/runtime/run_sets.hpp"
#include "test/support/eventually.hpp"
#include "test/support/test_files.hpp"
#include "test/support/made_jpeg.hpp"
#include "test/support/expected_result.hpp"
#include "test/support/sanitized.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <tuple>

namespace rtexec {
namespace {

using namespace test;
namespace iceoryx = channels::iceoryx;

constexpr int side = 64;
constexpr std::size_t numbers = std::size_t{3} * side * side;
constexpr std::size_t max_boxes = 16;

tasks::Picture known_picture() {
  tasks::Picture picture{.size = {side, side}, .rgb = std::vector<std::uint8_t>(numbers)};
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      std::uint8_t* pixel = picture.rgb.data() + 3 * (y * side + x);
      pixel[0] = static_cast<std::uint8_t>(x * 37 + y * 11);
      pixel[1] = static_cast<std::uint8_t>(x * 5 + y * 91);
      pixel[2] = static_cast<std::uint8_t>(x * y * 3);
    }
  return picture;
}

std::vector<std::byte> bytes_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

/// The results of one job.
struct Results {
  std::vector<std::vector<std::byte>> tensors;
  std::vector<Box> boxes;
};

void expect_same(const Results& found, const Results& expected) {
  EXPECT_EQ(found.tensors, expected.tensors);
  ASSERT_EQ(found.boxes.size(), expected.boxes.size());
  for (std::size_t i = 0; i < found.boxes.size(); ++i)
    EXPECT_EQ(std::memcmp(&found.boxes[i], &expected.boxes[i], sizeof(Box)), 0) << i;
}

/// The model, the picture in the form that each source needs, and the results of the network alone.
class Known {
 public:
  /// Computes the known results. If `compressed`, they are those of the picture after a camera's compression.
  Known(bool compressed, const Preprocessing& preprocessing, const std::string& board)
      : board_(board), preprocessing_(preprocessing) {
    auto picture = known_picture();
    if (compressed) {
      jpeg_ = test::jpeg(picture.rgb, {.width = side, .height = side, .across = 1, .down = 1, .quality = 100});
      auto decoder = tasks::MjpgDecoder::make(picture.size);
      EXPECT_EQ(problem(decoder), "none");
      const auto left = decoder->decode(jpeg_);
      EXPECT_TRUE(left);
      picture.rgb.assign(left->bytes.begin(), left->bytes.end());
    }
    EXPECT_EQ(problem(tasks::write_model("yolov3-tiny", {.size = side, .classes = 3, .seed = 3}, model())), "none");
    EXPECT_EQ(problem(tasks::write_png(picture, png())), "none");
    rgb_ = picture.rgb;
    auto alone = study::Inference::load({.model = model()}, read_board(board_).value(), {});
    EXPECT_EQ(problem(alone), "none");
    const std::array<std::string, 1> files{png()};
    EXPECT_EQ(problem(alone->fetch_inputs(files, preprocessing)), "none");
    const Tensor input = alone->workload().inputs()[0];
    const auto* values = reinterpret_cast<const float*>(input.bytes.data());
    values_.assign(values, values + numbers);
    EXPECT_EQ(problem(tasks::write_npy(npy(), input.shape, input.type, input.bytes)), "none");
    EXPECT_EQ(problem(alone->run(1)), "none");
    for (const Tensor& output : alone->workload().outputs()) expected_.tensors.push_back(bytes_of(output.bytes));
    const auto boxes = alone->workload().detections();
    expected_.boxes.assign(boxes.begin(), boxes.end());
    EXPECT_GE(expected_.boxes.size(), 2u);
    EXPECT_LE(expected_.boxes.size(), max_boxes);
  }
  [[nodiscard]] const std::string& board() const { return board_; }
  [[nodiscard]] std::string model() const { return (folder_ / "net.onnx").string(); }
  [[nodiscard]] std::string png() const { return (folder_ / "p.png").string(); }
  [[nodiscard]] std::string npy() const { return (folder_ / "p.npy").string(); }
  [[nodiscard]] std::string results() const { return (folder_ / "results").string(); }
  [[nodiscard]] std::span<const std::uint8_t> rgb() const { return rgb_; }
  [[nodiscard]] std::span<const std::byte> jpeg() const { return jpeg_; }
  [[nodiscard]] std::span<const float> values() const { return values_; }
  [[nodiscard]] const Results& expected() const { return expected_; }
  [[nodiscard]] const Preprocessing& preprocessing() const { return preprocessing_; }

 private:
  const std::string board_;
  const Preprocessing preprocessing_;
  ScratchFolder folder_;
  std::vector<std::byte> jpeg_;
  std::vector<std::uint8_t> rgb_;
  std::vector<float> values_;
  Results expected_;
};

/// Keeps the results of the first job after the warm-up. It runs on a real-time thread and does not allocate.
class Keeper {
 public:
  explicit Keeper(std::vector<std::size_t> sizes) {
    for (const std::size_t size : sizes) kept_.tensors.emplace_back(size);
    kept_.boxes.resize(max_boxes);
  }
  void take(const OutputJob& job) noexcept {
    if (job.job == 0 || there_.load()) return;
    for (std::size_t i = 0; i < kept_.tensors.size(); ++i)
      std::ranges::copy(job.outputs[i].bytes, kept_.tensors[i].begin());
    boxes_ = std::min(job.detections.size(), max_boxes);
    std::ranges::copy(job.detections.first(boxes_), kept_.boxes.begin());
    there_.store(true);
  }
  [[nodiscard]] bool there() const { return there_.load(); }
  [[nodiscard]] Results results() const {
    Results results = kept_;
    results.boxes.resize(boxes_);
    return results;
  }

 private:
  Results kept_;
  std::size_t boxes_ = 0;
  std::atomic<bool> there_{false};
};

enum class From { png, npy, rgb_camera, bgr_camera, mjpg_camera, picture_message, tensor_message, program, task };
constexpr std::array all{From::png,
                         From::npy,
                         From::rgb_camera,
                         From::bgr_camera,
                         From::mjpg_camera,
                         From::picture_message,
                         From::tensor_message,
                         From::program,
                         From::task};
const char* spelled(From from) {
  return std::array{"png",     "npy", "rgb_camera", "bgr_camera", "mjpg_camera", "picture_message", "tensor_message",
                    "program", "task"}[static_cast<std::size_t>(from)];
}
bool is_camera(From from) { return from == From::rgb_camera || from == From::bgr_camera || from == From::mjpg_camera; }
bool is_message(From from) { return from == From::picture_message || from == From::tensor_message; }

const iceoryx::Service frames{"rtexec", "test", "frames"}, boxes{"rtexec", "test", "boxes"};

/// Sends the picture repeatedly, as an external program would.
class Sender {
 public:
  Sender(From from, const Known& known, hal::test::FakeCamera* camera) : from_(from), known_(known), camera_(camera) {
    if (is_message(from)) {
      auto made = iceoryx::Publisher::open(frames, Bytes{numbers * sizeof(float)});
      EXPECT_EQ(problem(made), "none");
      publisher_ = std::move(*made);
    }
    thread_ = std::thread([this] {
      for (; !ends_.load(); std::this_thread::sleep_for(10ms)) send();
    });
  }
  ~Sender() {
    ends_.store(true);
    thread_.join();
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

 private:
  void send() {
    if (is_camera(from_)) camera_->make_frames(1);
    if (!publisher_) return;
    const bool picture = from_ == From::picture_message;
    const auto content = picture ? std::as_bytes(known_.rgb()) : std::as_bytes(known_.values());
    const auto loan = publisher_->loan(Bytes{content.size()});
    if (!loan) return;
    std::ranges::copy(content, loan->begin());
    rtexec_message header{};
    header.element = picture ? RTEXEC_ELEMENT_UINT8 : RTEXEC_ELEMENT_FLOAT32;
    header.rank = picture ? 3 : 4;
    const std::array<std::uint64_t, 4> shape =
        picture ? std::array<std::uint64_t, 4>{side, side, 3, 0} : std::array<std::uint64_t, 4>{1, 3, side, side};
    std::ranges::copy(shape, header.shape);
    EXPECT_TRUE(publisher_->publish(header));
  }

  const From from_;
  const Known& known_;
  hal::test::FakeCamera* camera_;
  std::unique_ptr<iceoryx::Publisher> publisher_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

TaskInput input_of(From from, const Known& known) {
  TaskInput input;
  input.preprocessing = known.preprocessing();
  switch (from) {
  case From::png: input.source = SourceKind::files, input.from = known.png(); break;
  case From::npy: input.source = SourceKind::files, input.from = known.npy(); break;
  case From::rgb_camera:
  case From::bgr_camera:
  case From::mjpg_camera:
    input.source = SourceKind::camera, input.from = hal::test::FakeCamera::path;
    input.format = from == From::rgb_camera   ? PixelFormat::rgb24
                   : from == From::bgr_camera ? PixelFormat::bgr24
                                              : PixelFormat::mjpg;
    break;
  case From::picture_message:
  case From::tensor_message: input.source = SourceKind::iceoryx, input.from = "rtexec/test/frames"; break;
  case From::program: input.source = SourceKind::program; break;
  case From::task: input.source = SourceKind::task, input.from = "before"; break;
  }
  return input;
}

/// Makes a set of the network, a task that takes its boxes, and one before it if that is the source.
TaskSet set_for(From from, const Known& known, bool messages) {
  Task net;
  net.name = "net";
  net.workload = WorkloadKind::dnn;
  net.model = known.model();
  net.period = net.deadline = 60ms;
  net.wcet = Wcet{.before = 2ms, .device = 40ms, .after = 2ms};
  net.inputs = {input_of(from, known)};
  net.outputs = {{.tensor = {}, .sink = SinkKind::files, .to = known.results()}};
  if (messages) net.outputs.push_back({.tensor = "detections", .sink = SinkKind::iceoryx, .to = "rtexec/test/boxes"});
  Task behind = own_task("behind", 60ms);
  behind.inputs = {{.tensor = {}, .source = SourceKind::task, .from = "net/detections"}};
  TaskSet set = set_of({net, behind}, 100s);
  set.board = known.board();
  set.device.capacity = Bytes{256 << 20};
  if (from == From::task) set.tasks.push_back(own_task("before", 60ms));
  return set;
}

/// Returns the results that the run wrote outside of this program.
Results in_files(const Known& known) {
  Results results;
  std::ifstream file(std::filesystem::path(known.results()) / "latest/net.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    if (json["job"] != 1) continue;
    for (const auto& box : json["detections"])
      results.boxes.push_back({.left = box["left"],
                               .top = box["top"],
                               .right = box["right"],
                               .bottom = box["bottom"],
                               .score = box["score"],
                               .label = box["class"]});
    for (const auto& [_, tensor] : json["tensors"].items()) {
      const auto read = tasks::read_npy(std::filesystem::path(known.results()) / "latest" / tensor.get<std::string>());
      EXPECT_EQ(problem(read), "none");
      results.tensors.push_back(read->bytes);
    }
  }
  return results;
}

std::vector<Box> boxes_in(std::span<const std::byte> values) {
  std::vector<Box> found;
  std::array<float, 6> six;
  for (; values.size() >= sizeof six; values = values.subspan(sizeof six)) {
    std::memcpy(six.data(), values.data(), sizeof six);
    if (six[4] > 0) found.push_back({six[0], six[1], six[2], six[3], six[4], static_cast<std::uint32_t>(six[5])});
  }
  return found;
}

const Preprocessing asked{.channels = ChannelOrder::bgr,
                          .layout = TensorLayout::nchw,
                          .fit = PictureFit::stretch,
                          .mean = {10, 0, 5},
                          .deviation = {250, 240, 230},
                          .scale = {1}};

/// A case: the source, whether pictures are fed as `asked`, and the device.
struct ChannelDataPath : testing::TestWithParam<std::tuple<From, bool, DeviceKind>> {
  static From from() { return std::get<0>(GetParam()); }
  static bool on_gpu() { return std::get<2>(GetParam()) == DeviceKind::cuda; }

  void goes() {
    const Known known(from() == From::mjpg_camera, std::get<1>(GetParam()) ? asked : Preprocessing{},
                      on_gpu() ? "rtx" : "host");
    const bool messages = !sanitized && channels::iceoryx::open_binding();
    std::optional<hal::test::FakeCamera> camera;
    if (is_camera(from())) set_up(camera.emplace(), known);
    Keeper results({known.expected().tensors[0].size(), known.expected().tensors[1].size()}),
        behind({max_boxes * 6 * sizeof(float)});
    Executive executive = started(known, messages, results, behind);
    const Sender sender(from(), known, camera ? &*camera : nullptr);
    std::unique_ptr<iceoryx::Subscriber> subscriber;
    if (messages) subscriber = std::move(*iceoryx::Subscriber::open(boxes));
    std::vector<Box> received;
    const auto all_there = [&] {
      if (subscriber) receive(*subscriber, received);
      return results.there() && behind.there() && (!subscriber || !received.empty());
    };
    std::set<std::string> may_lock; // iceoryx locks in publish(), and so does the simulated camera
    if (messages) may_lock.insert("net.after");
    if (camera) may_lock.insert("net");
    const auto await = [&] { EXPECT_TRUE(eventually(all_there)) << shown(executive.progress()); };
    const Report report = on_gpu() ? (await(), executive.stop()) // threads of the GPU driver are not checked
                                   : expect_real_time(executive, await, may_lock);
    EXPECT_EQ(report.tasks[0].failed + report.tasks[1].failed, 0u);
    expect_same(results.results(), known.expected());
    EXPECT_EQ(bytes(boxes_in(behind.results().tensors[0])), bytes(known.expected().boxes));
    if (subscriber) { EXPECT_EQ(bytes(received), bytes(known.expected().boxes)); }
    EXPECT_EQ(problem(closed(std::move(executive))), "none");
    expect_same(in_files(known), known.expected());
  }

 private:
  static std::vector<std::byte> bytes(const std::vector<Box>& found) {
    return bytes_of(std::as_bytes(std::span(found)));
  }
  static Result<> closed(Executive) { return {}; }
  static std::string shown(const Report& report) {
    std::string text;
    for (const ChannelReport& each : report.channels)
      text += each.task + ": " + each.name + ": " + std::to_string(each.moved) + " moved, " + each.failure + "\n";
    return text;
  }

  void set_up(hal::test::FakeCamera& camera, const Known& known) const {
    camera.formats = {V4L2_PIX_FMT_RGB24, V4L2_PIX_FMT_BGR24, V4L2_PIX_FMT_MJPEG};
    camera.set_time(hal::now());
    if (from() == From::mjpg_camera) {
      camera.image_size = 1 << 16;
      camera.paint = [&known](std::span<std::byte> into) { std::ranges::copy(known.jpeg(), into.begin()); };
      camera.spoil = [&known](v4l2_buffer& buffer) {
        buffer.bytesused = static_cast<std::uint32_t>(known.jpeg().size());
      };
      return;
    }
    camera.paint = [rgb = known.rgb(), swapped = from() == From::bgr_camera](std::span<std::byte> into) {
      for (std::size_t i = 0; i < numbers; ++i) into[i] = std::byte{rgb[swapped ? i - i % 3 + 2 - i % 3 : i]};
    };
  }

  Executive started(const Known& known, bool messages, Keeper& results, Keeper& behind) const {
    ExecutiveSetup setup;
    setup.force = true;
    const OwnWorkload::Values picture{"x", ElementType::float32, {1, 3, side, side}};
    setup.workloads["behind"] = std::make_unique<OwnWorkload>(
        std::vector<OwnWorkload::Values>{{"b", ElementType::float32, {max_boxes, 6}}},
        std::vector<OwnWorkload::Values>{{"c", ElementType::float32, {max_boxes, 6}}},
        [](std::uint64_t, auto in, auto out) { std::ranges::copy(in[0].bytes, out[0].bytes.begin()); });
    const auto fill = [values = known.values()](InputJob& job) -> Status {
      std::ranges::copy(values, job.inputs[0].as<float>().begin());
      return {};
    };
    if (from() == From::task) {
      setup.workloads["before"] = std::make_unique<OwnWorkload>(
          std::vector{picture}, std::vector{picture},
          [](std::uint64_t, auto in, auto out) { std::ranges::copy(in[0].bytes, out[0].bytes.begin()); });
      setup.callbacks["before"].on_input = fill;
    }
    if (from() == From::program) setup.callbacks["net"].on_input = fill;
    setup.callbacks["net"].on_output = [&](const OutputJob& job) { results.take(job); };
    setup.callbacks["behind"].on_output = [&](const OutputJob& job) {
      if (job.outputs[0].as<const float>()[4] > 0) behind.take(job);
    };
    auto made = Executive::create(set_for(from(), known, messages), std::move(setup));
    EXPECT_EQ(problem(made), "none");
    EXPECT_EQ(problem(made->start()), "none");
    return std::move(*made);
  }

  static void receive(iceoryx::Subscriber& subscriber, std::vector<Box>& received) {
    const auto message = subscriber.newest();
    if (!message || !*message || (*message)->header->job == 0) return;
    received = boxes_in((*message)->payload);
  }
};

const auto name_of = [](const auto& way) {
  return std::string(spelled(std::get<0>(way.param))) + (std::get<1>(way.param) ? "_as_asked" : "");
};
constexpr std::array pictures{From::png, From::rgb_camera, From::bgr_camera, From::mjpg_camera, From::picture_message};
const auto sources_on = [](DeviceKind kind) {
  return testing::Combine(testing::ValuesIn(all), testing::Values(false), testing::Values(kind));
};
const auto pictures_on = [](DeviceKind kind) {
  return testing::Combine(testing::ValuesIn(pictures), testing::Values(true), testing::Values(kind));
};
INSTANTIATE_TEST_SUITE_P(Sources, ChannelDataPath, sources_on(DeviceKind::host), name_of);
INSTANTIATE_TEST_SUITE_P(Pictures, ChannelDataPath, pictures_on(DeviceKind::host), name_of);
INSTANTIATE_TEST_SUITE_P(GpuSources, ChannelDataPath, sources_on(DeviceKind::cuda), name_of);
INSTANTIATE_TEST_SUITE_P(GpuPictures, ChannelDataPath, pictures_on(DeviceKind::cuda), name_of);

TEST_P(ChannelDataPath, KeepsEveryBitOfPicture) {
  if (const std::string why = on_gpu() ? hal::test::why_no_gpu() : ""; !why.empty()) GTEST_SKIP() << why;
  if (sanitized || !channels::iceoryx::open_binding()) {
    if (is_message(from())) GTEST_SKIP() << "without iceoryx, or under a sanitizer that misreads it";
    return goes();
  }
  isolated([this] { goes(); });
}

} // namespace
} // namespace rtexec

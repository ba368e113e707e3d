// The costs of filling an input and of passing an output on, compared with a plain copy of as many bytes, measured
// alternately.
#include "rtexec/runtime/channels/file_sink.hpp"
#include "rtexec/runtime/channels/task_io.hpp"
#include "rtexec/runtime/channels/task_link.hpp"
#include "rtexec/runtime/executive/device_memory.hpp"
#include "config/base/must.hpp"
#include "config/names.hpp"
#include "hal/open/open_device.hpp"
#include "hal/thread.hpp"
#include "tasks/engine/dnn_workload.hpp"
#include "tasks/engine/models/graph_writer.hpp"
#include "tasks/media/frame.hpp"
#include "tasks/media/input.hpp"
#include "tasks/media/mjpg.hpp"
#include "tasks/media/npy.hpp"
#include "test/bench/statistics.hpp"
#include "test/hal/gpu.hpp"
#include "test/rtexec/runtime/own_workload.hpp"
#include "test/support/test_files.hpp"
#include "test/support/made_jpeg.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace rtexec;

/// Returns the time of one call.
double seconds(const std::function<void()>& work, int calls) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
}

struct Input {
  explicit Input(ElementType type) : bytes(std::size_t{3} * 416 * 416 * size_of(type)), peer(bytes.size()) {
    tensor = {.name = "x", .type = type, .shape = {1, 3, 416, 416}, .bytes = bytes};
  }
  std::vector<std::byte> bytes, peer;
  rtexec::Tensor tensor;
};

void compare(
    const char* what, const std::function<void()>& fill, const std::function<void()>& plain, int calls = 20,
    const std::function<void()>& between = [] {}) {
  constexpr int rounds = 51;
  std::vector<double> ours, copy, ratio;
  for (int round = 0; round < rounds; ++round) {
    ours.push_back(seconds(fill, calls));
    copy.push_back(seconds(plain, calls));
    between();
    ratio.push_back(ours.back() / copy.back());
  }
  std::printf("  %-44s %8.1f us, memcpy %6.1f us, ratio %.2f\n", what, 1e6 * bench::median(ours),
              1e6 * bench::median(copy), bench::median(ratio));
}

void compare(const char* what, Input& input, const std::function<void()>& fill) {
  compare(what, fill, [&] { std::memcpy(input.bytes.data(), input.peer.data(), input.bytes.size()); });
}

void bench_file(const std::filesystem::path& folder, ElementType type) {
  Input input(type);
  const auto file = folder / "x.npy";
  if (!tasks::write_npy(file, input.tensor.shape, type, input.bytes)) return;
  const auto source = tasks::make_input(file, input.tensor);
  if (!source) return void(std::fprintf(stderr, "%s\n", source.error().what.c_str()));
  compare((".npy, " + std::string(name(type))).c_str(), input, [&] { (void)(*source)->fetch(0, input.tensor); });
}

void bench_frame(const char* what, PixelFormat format, std::size_t row, std::size_t rows) {
  Input input(ElementType::float32);
  const std::vector<std::uint8_t> pixels(row * rows, 100);
  auto sampler = tasks::FrameSampler::make(input.tensor);
  if (!sampler) return;
  compare(what, input, [&] { (void)sampler->sample({format, {1280, 720}, row, pixels}, input.bytes); });
}

/// Uses a picture that is neither plain nor noise.
void bench_mjpg() {
  Input input(ElementType::float32);
  std::vector<std::uint8_t> pixels(std::size_t{3} * 1280 * 720);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(i / 30 + i % 7 * (i / 3840 % 9));
  const auto compressed = test::jpeg(pixels, {.width = 1280, .height = 720, .down = 1});
  auto decoder = tasks::MjpgDecoder::make({1280, 720});
  auto sampler = tasks::FrameSampler::make(input.tensor);
  if (!decoder || !sampler) return;
  compare(("frame of 1280x720, MJPG of " + std::to_string(compressed.size() / 1024) + " KiB, to float32").c_str(),
          [&] {
            if (const auto frame = decoder->decode(compressed)) (void)sampler->sample(*frame, input.bytes);
          },
          [&] { std::memcpy(input.bytes.data(), input.peer.data(), input.bytes.size()); }, 3);
}

using channels::TaskIo;

std::unique_ptr<test::OwnWorkload> workload() {
  const test::OwnWorkload::Values values{"x", ElementType::float32, {1, 3, 416, 416}};
  return std::make_unique<test::OwnWorkload>(std::vector{values}, std::vector{values}, [](auto...) {});
}

/// The buffer of the workload, an intermediate copy, and the peer's.
struct Buffers {
  Input from{ElementType::float32}, between{ElementType::float32}, to{ElementType::float32};
  static void copy(const Input& source, Input& target) {
    std::memcpy(target.bytes.data(), source.bytes.data(), source.bytes.size());
  }
};

void bench_program() {
  Buffers peer;
  const auto own = workload();
  TaskIo io("a", *own,
            {.on_input = [&](InputJob& job) -> Status {
               std::memcpy(job.inputs[0].bytes.data(), peer.from.bytes.data(), peer.from.bytes.size());
               return {};
             },
             .on_output = {}});
  compare(
      "on_input that copies, float32", [&] { (void)io.read(0, hal::now(), TaskIo::For::job); },
      [&] { Buffers::copy(peer.from, peer.to); });
}

void bench_link() {
  Buffers peer;
  const auto writer = workload(), reader = workload();
  const auto latest = std::make_shared<channels::LatestMailbox>(peer.from.bytes.size(), 1, 1);
  TaskIo out("a", *writer, {}), in("b", *reader, {});
  out.add_sink(std::make_unique<channels::TaskSink>(latest, *channels::Output::of(*writer, "x"), std::nullopt), "");
  in.add_source(0, std::make_unique<channels::TaskSource>(latest, 0, Communication::immediate), OnStale::reuse, "");
  compare(
      "task to task, two copies, float32",
      [&] {
        out.write(0, hal::now(), hal::now(), false);
        (void)in.read(0, hal::now(), TaskIo::For::job);
      },
      [&] {
        Buffers::copy(peer.from, peer.between);
        Buffers::copy(peer.between, peer.to);
      });
}

// ---- between two networks

/// Two networks with almost no work, one of which passes 3x416x416 to the other.
class Pair {
 public:
  Pair(hal::Device& device, const std::filesystem::path& folder, Precision precision, bool on_device)
      : device_(device),
        writer_(load(folder / "writer.onnx", precision)),
        reader_(load(folder / "reader.onnx", precision)),
        latest_(std::make_shared<channels::LatestMailbox>(
            channels::size_of_values(reader_->inputs()[0]), 1, 1,
            on_device ? channels::LatestMailbox::Where::given_memory : channels::LatestMailbox::Where::own_memory)) {
    const channels::Output output = *channels::Output::of(*writer_, "");
    if (on_device) {
      writer_->link_output(0, false);
      reader_->link_input(0);
      out_.add_sink(std::make_unique<channels::DeviceSink>(latest_, *writer_, 0, std::nullopt), "");
      in_.add_source(
          0, std::make_unique<channels::DeviceSource>(latest_, 0, Communication::immediate, *reader_, std::size_t{0}),
          OnStale::reuse, "");
    } else {
      out_.add_sink(std::make_unique<channels::TaskSink>(latest_, output, std::nullopt), "");
      in_.add_source(0, std::make_unique<channels::TaskSource>(latest_, 0, Communication::immediate), OnStale::reuse,
                     "");
    }
    place(on_device);
  }

  /// Runs a job of each.
  void run() {
    (void)out_.read(0, hal::now(), TaskIo::For::job);
    execute(*writer_);
    out_.write(0, hal::now(), hal::now(), false);
    (void)in_.read(0, hal::now(), TaskIo::For::job);
    execute(*reader_);
  }

 private:
  [[nodiscard]] std::unique_ptr<tasks::DnnWorkload> load(const std::filesystem::path& model, Precision precision) {
    return must(tasks::DnnWorkload::load(model, device_.kind(), precision));
  }

  void place(bool on_device) {
    std::vector<executive::TaskMemory> task_memories;
    for (auto* workload : {writer_.get(), reader_.get()}) {
      MemoryDemand demand = workload->memory();
      if (on_device && workload == writer_.get()) demand.fixed += latest_->total_size();
      task_memories.push_back(executive::resident_memory(demand, workload->constants(), device_.chunk_size()));
    }
    memory_ = must(executive::DeviceMemory::lay_out(device_, task_memories, {}));
    if (on_device) latest_->use_memory(memory_->fixed()[0]);
    must(writer_->bind(device_, memory_->addresses()[0]));
    must(reader_->bind(device_, memory_->addresses()[1]));
    must(in_.open());
  }

  void execute(Workload& workload) {
    const auto executed = device_.engine(hal::EngineKind::compute).call([&]() noexcept { return workload.execute(); });
    if (!executed.outcome) throw std::runtime_error(name(executed.outcome.error()));
  }

  hal::Device& device_;
  std::unique_ptr<executive::DeviceMemory> memory_;
  std::unique_ptr<tasks::DnnWorkload> writer_, reader_;
  std::shared_ptr<channels::LatestMailbox> latest_;
  TaskIo out_{"writer", *writer_, {}}, in_{"reader", *reader_, {}};
};

void write_pair(const std::filesystem::path& folder) {
  tasks::GraphWriter writer("writer", 1), reader("reader", 2);
  writer.output(writer.relu(writer.input(3, 416)));
  reader.output(reader.global_average_pool(reader.input(3, 416)));
  must(writer.save(folder / "writer.onnx"));
  must(reader.save(folder / "reader.onnx"));
}

void bench_pair(const std::filesystem::path& folder, DeviceKind kind, Precision precision) {
  Board board;
  board.name = kind == DeviceKind::host ? "host" : "rtx";
  board.device = kind;
  board.capacity = Bytes{256 << 20};
  const auto device = must(hal::open_device(board, board.capacity, Bytes{2 << 20}));
  Pair on_device(*device, folder, precision, true), through_host(*device, folder, precision, false);
  constexpr int rounds = 51, calls = 20;
  std::vector<double> linked, host, ratio;
  for (int round = 0; round < rounds; ++round) {
    linked.push_back(seconds([&] { on_device.run(); }, calls));
    host.push_back(seconds([&] { through_host.run(); }, calls));
    ratio.push_back(linked.back() / host.back());
  }
  std::printf("  %-44s %8.1f us, through the host %6.1f us, ratio %.2f\n",
              ("network to network on " + device->name() + ", " + std::string(spelling(precision))).c_str(),
              1e6 * bench::median(linked), 1e6 * bench::median(host), bench::median(ratio));
}

void bench_pairs(const std::filesystem::path& folder) {
  write_pair(folder);
  bench_pair(folder, DeviceKind::host, Precision::fp32);
  if (!hal::test::why_no_gpu().empty()) return;
  for (const Precision precision : {Precision::fp32, Precision::fp16}) bench_pair(folder, DeviceKind::cuda, precision);
}

/// Measures passing results on. The output's thread discards them, and is given time to catch up. The peer fills as
/// many buffers, alternately.
void bench_results() {
  const auto own = workload();
  TaskIo io("a", *own, {});
  io.add_sink(std::make_unique<channels::FileSink>(nullptr, "a", *own, std::vector<std::size_t>{0}), "files");
  if (const auto opened = io.open(); !opened) return void(std::fprintf(stderr, "%s\n", opened.error().what.c_str()));
  const Input from(ElementType::float32);
  std::vector<Input> kept;
  for (int i = 0; i < 8; ++i) kept.emplace_back(ElementType::float32);
  std::size_t next = 0;
  compare(
      "results taken for files, float32", [&] { io.write(0, hal::now(), hal::now(), false); },
      [&] { Buffers::copy(from, kept[next++ % kept.size()]); }, 4,
      [] { hal::sleep_until(hal::now() + std::chrono::milliseconds(5)); });
  std::vector<ChannelReport> report;
  io.report(report);
  if (report[0].dropped > 0)
    std::printf("    of them %llu were dropped\n", static_cast<unsigned long long>(report[0].dropped));
}

} // namespace

int main() {
  const test::ScratchFolder folder;
  std::printf(
      "filling or handing on 3x416x416 against a memcpy of as many bytes, medians of 51 turns (goal but for frames: "
      "at most 1.1)\n");
  for (const auto type : {ElementType::float32, ElementType::float16, ElementType::uint8})
    bench_file(folder.path(), type);
  bench_program();
  bench_link();
  try {
    bench_pairs(folder.path());
  } catch (const Failed& failed) { std::fprintf(stderr, "%s\n", failed.error.what.c_str()); }
  bench_results();
  bench_frame("frame of 1280x720, RGB24, to float32", PixelFormat::rgb24, 3 * 1280, 720);
  bench_frame("frame of 1280x720, YUYV, to float32", PixelFormat::yuyv, 2 * 1280, 720);
  bench_frame("frame of 1280x720, NV12, to float32", PixelFormat::nv12, 1280, 1080);
  bench_mjpg();
}

#include "rtexec/studies/single/inference.hpp"

#include <rtexec/board.hpp>
#include "config/base/must.hpp"
#include "config/task_channels.hpp"
#include "config/base/text.hpp"
#include "hal/open/open_device.hpp"
#include "hal/thread.hpp"
#include "rtexec/runtime/executive/device_memory.hpp"
#include "rtexec/runtime/planning/loaded_set.hpp"
#include "rtexec/studies/calibration/measured_device.hpp"
#include "tasks/engine/graph/input_ranges.hpp"
#include "tasks/media/input.hpp"
#include "tasks/engine/graph/passes.hpp"
#include "tasks/engine/make_network.hpp"
#include "tasks/engine/onnx/onnx_reader.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace rtexec::study {

namespace {

namespace fs = std::filesystem;
using Ports = std::span<const tasks::Network::Port>;

std::string names_of(Ports inputs) {
  std::string names;
  for (const auto& input : inputs) names += (names.empty() ? "" : ", ") + config::quoted(input.name);
  return names;
}

/// Whose file `given` is, as NAME=FILE.
const tasks::Network::Port* named_in(const std::string& given, Ports inputs) {
  const tasks::Network::Port* named = nullptr; // a name may have a '=' in it, and begin with another one
  for (const auto& input : inputs)
    if (given.starts_with(input.name + "=") && (named == nullptr || named->name.size() < input.name.size()))
      named = &input;
  return named;
}

Result<std::vector<fs::path>> files_of(Ports inputs, std::span<const std::string> given) {
  std::vector<fs::path> files(inputs.size());
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::bad_input, why + "; give a file for each input as NAME=FILE: " + names_of(inputs));
  };
  if (inputs.empty() && !given.empty()) return fail(Errc::bad_input, given.front() + ": the network has no input");
  for (const std::string& each : given) {
    const auto* input = named_in(each, inputs);
    if (input == nullptr && inputs.size() > 1)
      return refuse(each + ": the network has " + std::to_string(inputs.size()) + " inputs");
    if (std::error_code error; input == nullptr && each.contains('=') && !fs::exists(each, error))
      return refuse(each + ": no such file, and no input of that name");
    fs::path& file = input == nullptr ? files.front() : files[static_cast<std::size_t>(input - inputs.data())];
    if (!file.empty()) return refuse(each + ": that input has a file already");
    file = input == nullptr ? each : each.substr(input->name.size() + 1);
  }
  for (std::size_t i = 0; i < inputs.size() && !given.empty(); ++i)
    if (files[i].empty()) return refuse("input " + config::quoted(inputs[i].name) + " has no file");
  return files;
}

} // namespace

Result<Inference> Inference::load(const InferenceOptions& options,
                                  const std::function<void(std::size_t done, std::size_t of)>& tuning) {
  return caught([&] {
    const Board board = must(read_board(options.board));
    if (const std::string problem = executive::problem_of_precision(options.precision, board); !problem.empty())
      give_up(Errc::bad_input, problem);
    auto graph = must(tasks::read_onnx(options.model, options.given));
    Inference inference;
    inference.metadata_ = graph.metadata;
    inference.notes_ = graph.notes;
    tasks::optimise(graph);
    inference.ranges_ = tasks::input_ranges(graph);
    auto network = tasks::make_network(graph, board.device, options.precision, options.memory);
    if (!network) give_up(network.error().code, options.model + ": " + network.error().what);
    graph = {}; // the network has a copy of its constants
    inference.network_ = std::move(*network);
    if (const auto used = inference.network_->use(options.chosen); !used)
      give_up(used.error().code, options.model + ": " + used.error().what);
    inference.bind(board, tuning);
    return inference;
  });
}

void Inference::bind(const Board& board, const std::function<void(std::size_t done, std::size_t of)>& tuning) {
  // Tuning needs room beside what the network will take.
  const Bytes needed =
      round_up(network_->memory().constant, board.chunk) + round_up(network_->memory().scratch, board.chunk);
  device_ = must(hal::open_device(board, tuning ? Bytes{0} : std::max(needed, board.chunk), board.chunk));
  if (tuning)
    must(network_->tune(*device_, [&](std::size_t done, std::size_t of) {
      tuning(done, of);
      return true;
    }));
  const auto task_memory = executive::resident_memory(network_->memory(), network_->constants(), device_->chunk_size());
  const auto memory = must(executive::DeviceMemory::lay_out(*device_, {&task_memory, 1}, {}));
  must(network_->bind(*device_, memory->addresses().front()));
}

Result<> Inference::fetch_inputs(std::span<const std::string> given, const Preprocessing& preprocessing) {
  if (const std::string problem = config::problem_of(preprocessing); !problem.empty())
    return fail(Errc::bad_input, problem);
  const auto normalization = tasks::normalization_of(metadata_);
  if (!normalization) return Unexpected(normalization.error());
  auto files = files_of(network_->inputs(), given);
  if (!files) return Unexpected(files.error());
  files_ = std::move(*files);
  preprocessing_ = preprocessing;
  if (preprocessing != Preprocessing{} && std::ranges::none_of(files_, tasks::are_pictures))
    return fail(Errc::bad_input, "channels, layout, fit, mean, std and scale are for pictures, and no input is one");
  const auto inputs = tasks::normalised(network_->inputs(), *normalization);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto source = tasks::make_input(files_[i], inputs[i], preprocessing, ranges_[i]);
    if (!source) return Unexpected(source.error());
    if (const auto fetched = (*source)->fetch(0, inputs[i]); !fetched)
      return fail(fetched.error(), "input " + config::quoted(inputs[i].name) + ": " + files_[i].string() +
                                       " could not be fetched: " + name(fetched.error()));
  }
  return {};
}

Result<std::vector<Duration>> Inference::run(int repeat) {
  std::vector<Duration> times(static_cast<std::size_t>(repeat));
  const auto executed = device_->engine(hal::EngineKind::compute).call([&]() noexcept -> Status {
    if (repeat > 1)
      if (const auto warmed_up = network_->run(); !warmed_up) return warmed_up;
    for (Duration& time : times) {
      const Instant begin = hal::now();
      if (const auto done = network_->run(); !done) return done;
      time = hal::now() - begin;
    }
    return {};
  });
  std::ranges::sort(times);
  if (executed.outcome) return times;
  return Unexpected(device_error(*device_, executed.outcome.error(), "the execution"));
}

Result<std::unique_ptr<tasks::OutputDecoder>> Inference::decode() const {
  auto decoder = tasks::make_decoder(metadata_, network_->inputs(), network_->outputs());
  if (decoder && *decoder) (*decoder)->decode(network_->outputs());
  return decoder;
}

} // namespace rtexec::study

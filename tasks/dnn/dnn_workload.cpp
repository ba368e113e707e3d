#include "tasks/dnn/dnn_workload.hpp"

#include "tasks/dnn/make_network.hpp"
#include "tasks/dnn/onnx/onnx_reader.hpp"
#include "tasks/dnn/graph/passes.hpp"
#include "tasks/fingerprint.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace rtexec::tasks {
namespace {

namespace fs = std::filesystem;

void add_file(Fingerprint& fingerprint, const fs::path& file) {
  std::error_code ignored; // a file that cannot be read has been refused already
  fingerprint.add(file.filename().string()).add(fs::file_size(file, ignored));
}

/// Names and sizes of the input's files: they decide what decoding costs.
void add_input(Fingerprint& fingerprint, const fs::path& input) {
  std::error_code ignored;
  if (!fs::is_directory(input, ignored)) {
    add_file(fingerprint, input);
    return;
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(input, ignored)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) add_file(fingerprint, file);
}

/// What figures were measured with, where it is not the host device.
std::string prefix(DeviceKind kind, Precision precision) {
  if (kind == DeviceKind::host) return "dnn-";
  switch (precision) {
  case Precision::fp32: return "dnn-cuda-fp32-";
  case Precision::tf32: return "dnn-cuda-tf32-";
  case Precision::fp16: return "dnn-cuda-fp16-";
  }
  std::unreachable();
}

} // namespace

DnnWorkload::DnnWorkload(std::unique_ptr<Network> network, std::unique_ptr<InputSource> source,
                         std::unique_ptr<OutputDecoder> decoder, std::string fingerprint)
    : network_(std::move(network)),
      source_(std::move(source)),
      decoder_(std::move(decoder)),
      fingerprint_(std::move(fingerprint)) {}

Result<std::unique_ptr<DnnWorkload>> DnnWorkload::load(const fs::path& model, const fs::path& input, DeviceKind kind,
                                                       Precision precision, const std::optional<Footprint>& footprint) {
  Fingerprint fingerprint;
  auto graph = read_onnx(model, [&](std::span<const std::byte> bytes) { fingerprint.add(bytes); });
  if (!graph) return Unexpected(graph.error());
  if (graph->inputs.size() != 1)
    return fail(Errc::unsupported, model.string() + ": it has " + std::to_string(graph->inputs.size()) +
                                       " inputs; a task feeds exactly one");
  optimise(*graph);
  auto network = make_network(*graph, kind, precision);
  if (!network) return fail(network.error().code, model.string() + ": " + network.error().what);

  const auto in_model = [&](const Error& error) { return fail(error.code, model.string() + ": " + error.what); };
  const auto normalization = normalization_of(graph->metadata);
  if (!normalization) return in_model(normalization.error());
  const auto& shape = (*network)->inputs().front().shape;
  std::vector<Shape> output_shapes;
  for (const auto& output : (*network)->outputs()) output_shapes.push_back(output.shape);
  auto decoder = make_decoder(graph->metadata, shape, output_shapes);
  if (!decoder) return in_model(decoder.error());
  auto source = make_input(input, shape, *normalization);
  if (!source) return Unexpected(source.error());
  if (!input.empty()) add_input(fingerprint, input);
  std::unique_ptr<DnnWorkload> workload(new DnnWorkload(std::move(*network), std::move(*source), std::move(*decoder),
                                                        prefix(kind, precision) + fingerprint.text()));
  workload->footprint_ = footprint;
  if (const auto fits = workload->fit(); !fits) return in_model(fits.error());
  return workload;
}

/// Divides what the footprint has beside the network's memory, as it is now.
Result<> DnnWorkload::fit() {
  if (!footprint_) return {};
  const auto own = network_->memory();
  const Bytes needed = own.constant + own.scratch;
  if (footprint_->size < needed)
    return fail(Errc::bad_input, "footprint = " + to_string(footprint_->size) + " is less than the network needs: " +
                                     to_string(needed) + " (constants " + to_string(own.constant) + ", scratch " +
                                     to_string(own.scratch) + "); ask for at least that, or for no footprint");
  const Bytes beside = footprint_->size - needed;
  fixed_ = footprint_->size - footprint_->swappable;
  if (fixed_ > beside)
    return fail(Errc::bad_input, "swappable = " + to_string(footprint_->swappable) + " leaves " + to_string(fixed_) +
                                     " of the footprint, " + to_string(footprint_->size) +
                                     ", fixed, but all that the network needs is swappable, " + to_string(needed) +
                                     ": ask for at least that");
  added_ = beside - fixed_;
  if (footprint_->kind != MemoryClass::constant) return {};
  auto image = ConstantImage::zeros_behind(network_->constants(), own.constant + added_);
  if (!image) return Unexpected(image.error());
  image_ = std::move(*image);
  return {};
}

MemoryDemand DnnWorkload::memory() const {
  auto demand = network_->memory();
  demand.fixed = fixed_;
  if (footprint_) demand.add(footprint_->kind, added_);
  return demand;
}

Result<> DnnWorkload::use(std::span<const std::string> tuning) {
  if (auto used = network_->use(tuning); !used) return used;
  return fit();
}

Result<std::vector<std::string>> DnnWorkload::tune(Device& device, const TuningProgress& progress) {
  auto lines = network_->tune(device, progress);
  if (!lines) return lines;
  if (const auto fits = fit(); !fits) return fail(fits.error().code, "as tuned, " + fits.error().what);
  return lines;
}

Result<> DnnWorkload::bind(Device& device, const Memory& memory) {
  if (auto bound = network_->bind(device, memory); !bound) return bound;
  outputs_.clear();
  for (const auto& output : network_->outputs()) outputs_.emplace_back(output.buffer);
  return {};
}

Status DnnWorkload::before(std::uint64_t job) noexcept {
  return source_->fetch(job, network_->inputs().front().buffer);
}

Status DnnWorkload::execute() noexcept { return network_->run(); }

Status DnnWorkload::after(std::uint64_t) noexcept {
  if (decoder_) decoder_->decode(outputs_);
  return {};
}

} // namespace rtexec::tasks

#include "tasks/dnn/models/models.hpp"

#include "tasks/dnn/models/networks.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace rtexec::tasks {
namespace {

constexpr int kSmallest = 32, kLargest = 4096; // pixels
constexpr int kMostClasses = 100'000;

constexpr std::array<ModelInfo, 8> kModels{{
    {"yolov3-tiny", 416, 80, "detector, 8.8 million weights (35 MB), 5.6 GFLOP"},
    {"yolov3", 416, 80, "detector, 62.0 million weights (248 MB), 65.9 GFLOP"},
    {"resnet18", 224, 1000, "classifier, 11.7 million weights (47 MB), 3.6 GFLOP"},
    {"resnet50", 224, 1000, "classifier, 25.6 million weights (102 MB), 8.2 GFLOP"},
    {"resnet152", 224, 1000, "classifier, 60.2 million weights (241 MB), 23.0 GFLOP"},
    {"resnext50", 224, 1000, "classifier with grouped convolutions, 25.0 million weights (100 MB), 8.5 GFLOP"},
    {"densenet201", 224, 1000, "classifier with many small layers, 20.0 million weights (80 MB), 8.6 GFLOP"},
    {"googlenet", 224, 1000, "classifier with parallel branches, 6.6 million weights (27 MB), 3.0 GFLOP"},
}};

using Build = void (*)(GraphWriter&, NetworkSize);

/// Parallel to kModels.
struct Builder {
  Build build;
  int step; // sizes must be multiples of it
};
constexpr std::array<Builder, kModels.size()> kBuilders{{{yolov3_tiny, 32}, {yolov3, 32}, {resnet18, 1}, {resnet50, 1},
                                                         {resnet152, 1}, {resnext50, 1}, {densenet201, 1}, {googlenet, 1}}};

std::unexpected<Error> unknown(std::string_view name) {
  std::string known;
  for (const auto& model : kModels) known += (known.empty() ? "" : ", ") + std::string(model.name);
  return fail(Errc::bad_input, "model \"" + std::string(name) + "\" is not known; known are " + known);
}

Result<> check(std::string_view name, NetworkSize size, int step) {
  const auto refuse = [&](const std::string& why) { return fail(Errc::bad_input, "model " + std::string(name) + ": " + why); };
  if (size.size < kSmallest || size.size > kLargest || size.size % step != 0)
    return refuse("size " + std::to_string(size.size) + " is not possible; it takes " +
                  (step > 1 ? "multiples of " + std::to_string(step) + " " : "sizes ") + "from " + std::to_string(kSmallest) +
                  " to " + std::to_string(kLargest));
  if (size.classes < 1 || size.classes > kMostClasses)
    return refuse(std::to_string(size.classes) + " classes are not possible; it takes 1 to " + std::to_string(kMostClasses));
  return {};
}

} // namespace

void finish_classifier(GraphWriter& graph, const Value& features, int classes) {
  graph.output(graph.classify(features, classes));
  graph.metadata("rtexec.task", "classify");
  graph.metadata("rtexec.mean", "0.485,0.456,0.406"); // of ImageNet, as torchvision's classifiers expect it
  graph.metadata("rtexec.std", "0.229,0.224,0.225");
}

std::span<const ModelInfo> models() { return kModels; }

Result<> write_model(std::string_view name, const ModelOptions& options, const std::filesystem::path& out) {
  const auto found = std::ranges::find(kModels, name, &ModelInfo::name);
  if (found == kModels.end()) return unknown(name);
  const Builder& builder = kBuilders[static_cast<std::size_t>(found - kModels.begin())];
  const NetworkSize size{options.size ? options.size : found->size, options.classes ? options.classes : found->classes};
  if (auto possible = check(name, size, builder.step); !possible) return possible;
  GraphWriter graph(name, options.seed);
  builder.build(graph, size);
  return graph.save(out);
}

} // namespace rtexec::tasks

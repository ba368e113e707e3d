#include "rtexec/cli/reports/inference_report.hpp"

#include "config/base/file_names.hpp"
#include "config/base/median.hpp"
#include "config/base/output_path.hpp"
#include "config/base/text.hpp"
#include "rtexec/runtime/channels/box_json.hpp"
#include "rtexec/cli/text/table.hpp"
#include "tasks/media/letterbox.hpp"
#include "tasks/media/picture.hpp"
#include "tasks/media/draw.hpp"
#include "tasks/media/npy.hpp"
#include "tasks/engine/host/kernels/elements.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::study {
namespace {

namespace fs = std::filesystem;

struct Values {
  double min, mean, max; // NaN if an element is NaN
};

/// Returns the elements of an output converted to float.
std::vector<float> floats_of(const Tensor& output) {
  std::vector<float> floats(output.bytes.size() / size_of(output.type));
  tasks::kernels::to_floats(floats.data(), output.type, output.bytes.data(), floats.size());
  return floats;
}

/// Returns minimum, mean and maximum of an output, which must have elements.
Values values_of(std::span<const float> output) {
  Values values{std::numeric_limits<double>::infinity(), 0, -std::numeric_limits<double>::infinity()};
  for (const double value : output) {
    values.min = std::min(value, values.min);
    values.max = std::max(value, values.max);
    values.mean += value / static_cast<double>(output.size());
  }
  return std::isnan(values.mean) ? Values{values.mean, values.mean, values.mean} : values;
}

/// Returns the recognised boxes, in pixels of the input picture.
std::vector<Box> boxes_in(const Workload& workload, const tasks::Letterbox& letterbox) {
  std::vector<Box> boxes;
  for (const Box& box : workload.detections()) boxes.push_back(letterbox.to_picture(box));
  return boxes;
}

void print_recognised(std::ostream& out, const Workload& workload) {
  const auto number = [](float value) { return config::fixed(std::trunc(static_cast<double>(value)) + 0.0, 0); };
  const auto score = [](float value) {
    const double percent = static_cast<double>(value) * 100;
    if (std::isnan(percent)) return std::string("NaN");
    return (percent < 10 || std::isinf(percent) ? config::significant(percent, 2)
                                                : std::to_string(std::lround(percent))) +
           "%";
  };
  const bool ranks = workload.recognises() == Recognition::classes;
  report::Table table(ranks ? std::vector<std::string>{"class", "score"}
                            : std::vector<std::string>{"class", "score", "left", "top", "right", "bottom"});
  for (const Box& box : workload.detections())
    table.add({std::to_string(box.label), score(box.score), number(box.left), number(box.top), number(box.right),
               number(box.bottom)});
  for (const RankedClass& ranked : workload.classes()) table.add({std::to_string(ranked.label), score(ranked.score)});
  table.print(out);
}

void print_values(std::ostream& out, const Workload& workload) {
  constexpr std::size_t max_shown = 8;
  constexpr int digits = 4;
  report::Table table({"output", "shape", "min", "mean", "max", "values"});
  for (const Tensor& output : workload.outputs()) {
    const std::vector<float> floats = floats_of(output);
    const Values values = values_of(floats);
    std::string first;
    for (const float value : std::span(floats).first(std::min(floats.size(), max_shown)))
      first += (first.empty() ? "" : " ") + config::significant(static_cast<double>(value), digits);
    table.add({config::printable(output.name), tasks::to_string(output.shape), config::significant(values.min, digits),
               config::significant(values.mean, digits), config::significant(values.max, digits),
               first + (floats.size() > max_shown ? " ..." : "")});
  }
  table.print(out);
}

} // namespace

Result<> write_outputs(const Workload& workload, const fs::path& folder, std::ostream& out) {
  if (const auto made = config::make_output_folder(folder); !made) return Unexpected(made.error());
  std::vector<std::string> names;
  for (const Tensor& output : workload.outputs()) names.push_back(output.name);
  const std::vector<std::string> files = config::file_names(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Tensor& output = workload.outputs()[i];
    const fs::path file = folder / (files[i] + ".npy");
    if (const auto written = tasks::write_npy(file, output.shape, output.type, output.bytes); !written) return written;
    out << "wrote " << config::printable(file.string(), 1000) << " (" << tasks::to_string(output.shape) << ")"
        << (files[i] == names[i] ? "" : ": output " + config::quoted(names[i])) << '\n';
  }
  return {};
}

Result<> write_picture(const Inference& inference, const fs::path& output) {
  const Workload& workload = inference.workload();
  auto picture = tasks::read_picture(inference.files().front());
  if (!picture) return Unexpected(picture.error());
  const auto sampler = tasks::FrameSampler::make(workload.inputs().front(), inference.preprocessing());
  if (!sampler) return Unexpected(sampler.error());
  const auto letterbox = tasks::Letterbox::fit(picture->size, sampler->extent(), inference.preprocessing().fit);
  tasks::draw(*picture, boxes_in(workload, letterbox));
  tasks::draw(*picture, workload.classes());
  return tasks::write_png(*picture, output);
}

void print(std::ostream& out, const Workload& workload) {
  if (workload.recognises() == Recognition::nothing) print_values(out, workload);
  else print_recognised(out, workload);
}

void print(std::ostream& out, const std::vector<Duration>& times) {
  out << "executed in " << readable(times[times.size() / 2]);
  if (times.size() > 1)
    out << " (median of " << times.size() << "; p99 " << readable(config::percentile_of(times, 0.99)) << ", p99.9 "
        << readable(config::percentile_of(times, 0.999)) << ", longest " << readable(times.back()) << ")";
  out << '\n';
}

nlohmann::json to_json(const Inference& inference, const std::vector<Duration>& times) {
  const Workload& workload = inference.workload();
  nlohmann::json outputs = nlohmann::json::array(), boxes = nlohmann::json::array(), classes = nlohmann::json::array();
  for (const Tensor& output : workload.outputs()) {
    const Values values = values_of(floats_of(output));
    outputs.push_back({{"name", output.name},
                       {"shape", output.shape},
                       {"type", name(output.type)},
                       {"min", values.min},
                       {"mean", values.mean},
                       {"max", values.max}});
  }
  for (const Box& box : workload.detections()) boxes.push_back(channels::box_json(box));
  for (const RankedClass& ranked : workload.classes())
    classes.push_back({{"class", ranked.label}, {"score", ranked.score}});
  return {{"outputs", outputs},
          {"notes", workload.notes()},
          {"boxes", boxes},
          {"classes", classes},
          {"device", inference.device()},
          {"execution_ns",
           {{"min", times.front().count()},
            {"median", times[times.size() / 2].count()},
            {"p50", config::percentile_of(times, 0.5).count()},
            {"p99", config::percentile_of(times, 0.99).count()},
            {"p999", config::percentile_of(times, 0.999).count()},
            {"max", times.back().count()}}}};
}

} // namespace rtexec::study

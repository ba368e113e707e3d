#include "config/base/text.hpp"
#include "rtexec/cli/reports/swap_calibration_report.hpp"

#include "rtexec/cli/text/table.hpp"

#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::study {

void print(std::ostream& out, const executive::Calibration& calibration) {
  out << "Swapping on " << calibration.device << ", by " << calibration.store << ", both ways at once\n";
  report::Table table({"chunk", "in", "out", "drop", "in fixed", "out fixed", "residual", "in fit R2", "out fit R2",
                       "in GB/s", "out GB/s"});
  const auto rate = [](Bytes chunk, double ns) {
    return config::fixed(ns > 0 ? static_cast<double>(chunk.count) / ns : 0.0, 1);
  };
  const auto share = [](double value) { return config::fixed(value, 4); };
  for (const auto& [cost, in, out_fit] : calibration.chunks)
    table.add({readable(cost.chunk), readable(cost.in_per_chunk), readable(cost.out_per_chunk),
               readable(cost.drop_per_chunk), readable(cost.in_fixed), readable(cost.out_fixed),
               readable(cost.residual), share(in.r_squared), share(out_fit.r_squared),
               rate(cost.chunk, in.per_chunk_ns), rate(cost.chunk, out_fit.per_chunk_ns)});
  table.print(out);
  out << "chosen chunk: " << readable(calibration.chosen) << '\n';
}

nlohmann::json to_json(const executive::Calibration& calibration, const std::filesystem::path& file) {
  nlohmann::json chunks = nlohmann::json::array();
  const auto fit = [](const executive::SwapFit& line) {
    return nlohmann::json{{"fixed_ns", line.fixed_ns},
                          {"per_chunk_ns", line.per_chunk_ns},
                          {"residual_ns", line.residual_ns},
                          {"r_squared", line.r_squared}};
  };
  for (const auto& [cost, in, out] : calibration.chunks)
    chunks.push_back({{"chunk_bytes", cost.chunk.count},
                      {"in_per_chunk_ns", cost.in_per_chunk.count()},
                      {"out_per_chunk_ns", cost.out_per_chunk.count()},
                      {"drop_per_chunk_ns", cost.drop_per_chunk.count()},
                      {"in_fixed_ns", cost.in_fixed.count()},
                      {"out_fixed_ns", cost.out_fixed.count()},
                      {"in_fit", fit(in)},
                      {"out_fit", fit(out)}});
  return {{"device", calibration.device},
          {"store", calibration.store},
          {"chosen_bytes", calibration.chosen.count},
          {"chunks", chunks},
          {"file", file.string()}};
}

} // namespace rtexec::study

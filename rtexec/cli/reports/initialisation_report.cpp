#include "config/base/text.hpp"
#include "rtexec/cli/reports/initialisation_report.hpp"

#include "rtexec/cli/text/chart.hpp"
#include "rtexec/cli/text/table.hpp"
#include "traces/report/svg.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

namespace rtexec::study {
namespace {

using tasks::initialise::TileTimes;

double milliseconds(Duration time) { return static_cast<double>(time.count()) * 1e-6; }
std::string shown(Duration time) { return config::fixed(milliseconds(time), 3); }
double ratio(Duration slow, Duration fast) {
  return fast == Duration(0) ? 0 : static_cast<double>(slow.count()) / static_cast<double>(fast.count());
}
double reduction(const InitialisationSize& size) {
  return size.kernel_unified == Duration(0)
             ? 0
             : 100 * (1 - 1 / std::max(1e-9, ratio(size.kernel_unified, size.kernel_enhanced)));
}
std::string megabytes(Bytes size) { return config::significant(static_cast<double>(size.count) / (1 << 20), 3); }

const char* where(PageStart start) {
  return start == PageStart::untouched ? "that were never touched" : "that lie on the host";
}

// ---- text ----

void print_row(report::Table& table, const InitialisationSize& size, const InitialisationRow& row) {
  std::vector<std::string> cells{megabytes(size.size),
                                 shown(row.host),
                                 shown(row.faults),
                                 shown(row.tiles.front().time),
                                 shown(row.enhanced()),
                                 std::to_string(row.tiles[row.best].tiles),
                                 config::fixed(ratio(row.host, row.enhanced()), 1),
                                 config::fixed(ratio(row.faults, row.enhanced()), 1)};
  if (row.start == PageStart::on_host) {
    cells.push_back(shown(size.kernel_unified));
    cells.push_back(shown(size.kernel_enhanced));
    cells.push_back(config::fixed(reduction(size), 1) + " %");
  }
  table.add(std::move(cells));
}

void print_start(std::ostream& out, const InitialisationResult& result, std::size_t index) {
  const InitialisationRow& first = result.sizes.front().rows[index];
  out << result.workload << ": initialisation of pages " << where(first.start) << ", ms\n";
  std::vector<std::string> header{
      "MiB",         "host",
      "GPU, faults", std::to_string(first.tiles.front().tiles) + (first.tiles.front().tiles == 1 ? " tile" : " tiles"),
      "eUMM",        "its tiles",
      "host / eUMM", "faults / eUMM"};
  if (first.start == PageStart::on_host) {
    for (const char* column : {"kernel behind host", "behind eUMM", "less by"}) header.emplace_back(column);
  }
  report::Table table(header);
  for (const InitialisationSize& size : result.sizes) print_row(table, size, size.rows[index]);
  table.print(out);
}

void print_crossover(std::ostream& out, const InitialisationResult& result) {
  if (result.small.empty()) out << '\n';
  else if (result.crossover)
    out << "From " << readable(*result.crossover) << " on the GPU is faster than the host.\n\n";
  else out << "The host is faster than one tile on the GPU at all sizes.\n\n";
}

void print_timeline(std::ostream& out, const InitialisationTimeline& timeline) {
  out << timeline.workload << ", " << readable(timeline.size) << ", its largest array in " << timeline.tiles.size()
      << (timeline.tiles.size() == 1 ? " tile: " : " tiles: ") << config::fixed(100 * overlap(timeline.tiles), 1)
      << " % of the time one tile is made while another is prefetched\n";
}

// ---- CSV ----

std::string initialisation_csv(const InitialisationSource& source, const InitialisationFound& found) {
  std::string text = "source,workload,bytes,start,way,tiles,best,time_ns\n";
  for (const auto& result : found.results)
    for (const auto& size : result.sizes)
      for (const auto& row : size.rows) {
        const auto add = [&](const char* method, unsigned tiles, bool best, Duration time) {
          text += source.name + "," + result.workload + "," + std::to_string(size.size.count) + "," +
                  std::string(name_of(row.start)) + "," + method + "," + std::to_string(tiles) + "," +
                  (best ? "1" : "0") + "," + std::to_string(time.count()) + "\n";
        };
        add("host", 0, false, row.host);
        add("faults", 0, false, row.faults);
        for (std::size_t i = 0; i < row.tiles.size(); ++i)
          add("tiles", row.tiles[i].tiles, i == row.best, row.tiles[i].time);
      }
  return text;
}

std::string kernel_csv(const InitialisationSource& source, const InitialisationFound& found) {
  std::string text = "source,workload,bytes,behind_host_ns,behind_tiles_ns\n";
  for (const auto& result : found.results)
    for (const auto& size : result.sizes)
      text += source.name + "," + result.workload + "," + std::to_string(size.size.count) + "," +
              std::to_string(size.kernel_unified.count()) + "," + std::to_string(size.kernel_enhanced.count()) + "\n";
  return text;
}

std::string crossover_csv(const InitialisationSource& source, const InitialisationFound& found) {
  std::string text = "source,workload,bytes,host_ns,one_tile_ns,gpu_from_here\n";
  for (const auto& result : found.results)
    for (const auto& each : result.small)
      text += source.name + "," + result.workload + "," + std::to_string(each.size.count) + "," +
              std::to_string(each.host.count()) + "," + std::to_string(each.gpu.count()) + "," +
              (result.crossover && each.size >= *result.crossover ? "1" : "0") + "\n";
  return text;
}

std::string timeline_csv(const InitialisationSource& source, const InitialisationTimeline& timeline) {
  std::string text = "source,workload,bytes,tile,prefetch_begin_ns,prefetch_end_ns,make_begin_ns,make_end_ns\n";
  for (std::size_t i = 0; i < timeline.tiles.size(); ++i) {
    const TileTimes& each = timeline.tiles[i];
    text += source.name + "," + timeline.workload + "," + std::to_string(timeline.size.count) + "," + std::to_string(i);
    for (const Duration time : {each.prefetch_begin, each.prefetch_end, each.make_begin, each.make_end})
      text += "," + std::to_string(time.count());
    text += "\n";
  }
  return text;
}

// ---- pictures ----

report::Panel panel_of(const InitialisationSource& source, const InitialisationResult& result, const char* what) {
  report::Panel panel{.title = result.workload + " (" + source.name + ")", .x_label = "MiB", .y_label = what};
  for (const auto& size : result.sizes) panel.categories.push_back(megabytes(size.size));
  return panel;
}

/// Returns a panel with initialisation times over sizes, like Figs. 5 and 7 of Wang et al. (GPU-side initialization).
report::Panel initialisation_panel(const InitialisationSource& source, const InitialisationResult& result,
                                   std::size_t start) {
  report::Panel panel = panel_of(source, result, "initialisation, ms");
  panel.curves = {{.name = "host"}, {.name = "GPU, faults"}, {.name = "eUMM"}};
  for (const auto& size : result.sizes) {
    const InitialisationRow& row = size.rows[start];
    panel.curves[0].values.push_back(milliseconds(row.host));
    panel.curves[1].values.push_back(milliseconds(row.faults));
    panel.curves[2].values.push_back(milliseconds(row.enhanced()));
  }
  return panel;
}

/// Returns a panel with times of the kernel after the initialisation, like Fig. 6 of Wang et al.
report::Panel kernel_panel(const InitialisationSource& source, const InitialisationResult& result) {
  report::Panel panel = panel_of(source, result, "kernel, ms");
  panel.curves = {{.name = "behind the host"}, {.name = "behind eUMM"}};
  for (const auto& size : result.sizes) {
    panel.curves[0].values.push_back(milliseconds(size.kernel_unified));
    panel.curves[1].values.push_back(milliseconds(size.kernel_enhanced));
  }
  return panel;
}

report::Panel crossover_panel(const InitialisationSource& source, const InitialisationResult& result) {
  report::Panel panel{
      .title = result.workload + " (" + source.name + ")", .x_label = "KiB", .y_label = "host / one tile on the GPU"};
  panel.curves = {{.name = "host / GPU"}, {.name = "equal"}};
  for (const auto& each : result.small) {
    panel.categories.push_back(config::significant(static_cast<double>(each.size.count) / 1024, 3));
    panel.curves[0].values.push_back(ratio(each.host, each.gpu));
    panel.curves[1].values.push_back(1);
  }
  return panel;
}

template <class Make> std::string panels(const InitialisationFound& found, const Make& make) {
  std::vector<report::Panel> all;
  for (const auto& result : found.results) all.push_back(make(result));
  return report::svg(all);
}

/// Draws when each tile is prefetched and initialised, like Fig. 4 of Wang et al.
std::string timeline_svg(const InitialisationSource& source, const InitialisationTimeline& timeline) {
  constexpr double left = 90, width = 900, lane = 28, top = 50, axis = 150;
  const double length = std::max(1e-6, milliseconds(timeline.tiles.back().make_end));
  traces::SvgWriter page(left + width + 30, axis + 50, "text{font:12px sans-serif;fill:#222}.l{stroke:#ddd}");
  page.text(left, 24,
            timeline.workload + ", " + readable(timeline.size) + ": both streams, tile by tile (" + source.name + ")");
  const auto x = [&](Duration time) { return left + width * milliseconds(time) / length; };
  const auto bar = [&](double y, Duration begin, Duration end, std::size_t tile, const char* colour, const char* what) {
    page.rect(x(begin), y, std::max(0.5, x(end) - x(begin)), lane,
              std::string("stroke=\"#fff\" fill=\"") + colour + '"',
              "tile " + std::to_string(tile) + ", " + what + ": " + shown(begin) + " to " + shown(end) + " ms");
  };
  const double step = traces::round_step(length / 8);
  for (double value = 0; value <= length * 1.0001; value += step) {
    const double at = left + width * value / length;
    page.line(at, top - 6, at, axis, "class=\"l\"");
    page.text(at, axis + 18, config::significant(value, 3), "text-anchor=\"middle\"");
  }
  page.text(left + width / 2, axis + 40, "ms", "text-anchor=\"middle\"");
  page.text(left - 8, top + 19, "prefetch", "text-anchor=\"end\"");
  page.text(left - 8, top + lane + 29, "initialise", "text-anchor=\"end\"");
  for (std::size_t i = 0; i < timeline.tiles.size(); ++i) {
    const TileTimes& each = timeline.tiles[i];
    bar(top, each.prefetch_begin, each.prefetch_end, i, "#4e79a7", "prefetched");
    bar(top + lane + 10, each.make_begin, each.make_end, i, "#f28e2b", "initialised");
  }
  return page.finish();
}

// ---- JSON ----

nlohmann::json to_json(const InitialisationRow& row) {
  nlohmann::json tiles = nlohmann::json::array();
  for (const auto& each : row.tiles) tiles.push_back({{"tiles", each.tiles}, {"time_ns", each.time.count()}});
  return {{"start", name_of(row.start)},
          {"host_ns", row.host.count()},
          {"faults_ns", row.faults.count()},
          {"tiles", std::move(tiles)},
          {"best_tiles", row.tiles[row.best].tiles},
          {"enhanced_ns", row.enhanced().count()}};
}

nlohmann::json to_json(const InitialisationSize& size) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& row : size.rows) rows.push_back(to_json(row));
  return {{"bytes", size.size.count},
          {"initialisation", std::move(rows)},
          {"kernel_behind_host_ns", size.kernel_unified.count()},
          {"kernel_behind_tiles_ns", size.kernel_enhanced.count()}};
}

nlohmann::json to_json(const InitialisationTimeline& timeline) {
  nlohmann::json tiles = nlohmann::json::array();
  for (const TileTimes& each : timeline.tiles)
    tiles.push_back({{"prefetch_begin_ns", each.prefetch_begin.count()},
                     {"prefetch_end_ns", each.prefetch_end.count()},
                     {"make_begin_ns", each.make_begin.count()},
                     {"make_end_ns", each.make_end.count()}});
  return {{"workload", timeline.workload},
          {"bytes", timeline.size.count},
          {"overlap", overlap(timeline.tiles)},
          {"tiles", std::move(tiles)}};
}

} // namespace

void print(std::ostream& out, const InitialisationSource& source, const InitialisationFound& found) {
  out << source.preface << "\n\n";
  for (const auto& result : found.results) {
    for (std::size_t i = 0; i < result.sizes.front().rows.size(); ++i) print_start(out, result, i);
    print_crossover(out, result);
  }
  if (found.timeline) print_timeline(out, *found.timeline);
}

nlohmann::json to_json(const InitialisationSource& source, const InitialisationFound& found) {
  nlohmann::json workloads = nlohmann::json::array();
  for (const auto& result : found.results) {
    nlohmann::json sizes = nlohmann::json::array(), small = nlohmann::json::array();
    for (const auto& size : result.sizes) sizes.push_back(to_json(size));
    for (const auto& each : result.small)
      small.push_back({{"bytes", each.size.count}, {"host_ns", each.host.count()}, {"one_tile_ns", each.gpu.count()}});
    workloads.push_back(
        {{"name", result.workload},
         {"sizes", std::move(sizes)},
         {"small", std::move(small)},
         {"crossover_bytes", result.crossover ? nlohmann::json(result.crossover->count) : nlohmann::json(nullptr)}});
  }
  return {{"simulated", source.simulated},
          {"source", source.name},
          {"preface", source.preface},
          {"workloads", std::move(workloads)},
          {"timeline", found.timeline ? to_json(*found.timeline) : nlohmann::json(nullptr)}};
}

report::Files files_of(const InitialisationSource& source, const InitialisationFound& found) {
  report::Files files{{"initialisation.csv", initialisation_csv(source, found)},
                      {"kernel.csv", kernel_csv(source, found)}};
  const auto& rows = found.results.front().sizes.front().rows;
  for (std::size_t i = 0; i < rows.size(); ++i)
    files.emplace_back("initialisation-" + std::string(name_of(rows[i].start)) + ".svg",
                       panels(found, [&](const auto& result) { return initialisation_panel(source, result, i); }));
  files.emplace_back("kernel.svg", panels(found, [&](const auto& result) { return kernel_panel(source, result); }));
  if (!found.results.front().small.empty()) {
    files.emplace_back("crossover.csv", crossover_csv(source, found));
    files.emplace_back("crossover.svg",
                       panels(found, [&](const auto& result) { return crossover_panel(source, result); }));
  }
  if (!found.timeline) return files;
  files.emplace_back("timeline.csv", timeline_csv(source, *found.timeline));
  files.emplace_back("timeline.svg", timeline_svg(source, *found.timeline));
  return files;
}

} // namespace rtexec::study

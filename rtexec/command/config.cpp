#include "config/keys.hpp"
#include "hal/board/board.hpp"
#include "rtexec/command/command.hpp"
#include "rtexec/command/text.hpp"

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <nlohmann/json.hpp>
#include <ranges>

namespace rtexec::command {

namespace {

const std::map<std::string, FileKind> kinds = {{"task-set", FileKind::task_set},
                                               {"board", FileKind::board},
                                               {"profile", FileKind::profile},
                                               {"daemon", FileKind::daemon}};

struct Options {
  std::string kind = "task-set";
  std::string board; // whose kernel command line is printed instead
  std::string json;
};

void print_keys(std::ostream& out, FileKind kind) {
  std::optional<std::string> table;
  for (const KeyDoc& doc : documented_keys(kind)) {
    if (doc.table != table) {
      table = doc.table;
      out << (table->empty() ? "(top level)" : table->starts_with("[") ? *table : "[" + *table + "]") << '\n';
    }
    out << "  " << doc.key << "\n      " << doc.type << (doc.unit.empty() ? "" : " (" + doc.unit + ")") << "; "
        << (doc.fallback == "required" ? "required" : "default: " + doc.fallback) << "\n      " << doc.meaning << '\n';
  }
}

void config(const Options& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  const FileKind kind = kinds.at(options.kind);
  print_keys(text_output(options.json), kind);
  nlohmann::json keys = nlohmann::json::array();
  for (const KeyDoc& doc : documented_keys(kind))
    keys.push_back({{"table", doc.table},
                    {"key", doc.key},
                    {"type", doc.type},
                    {"unit", doc.unit},
                    {"default", doc.fallback},
                    {"meaning", doc.meaning}});
  must(write_json(json_file, keys));
}

void print_command_line(const Options& options) {
  OutputFile json_file = must(OutputFile::open(options.json));
  const std::string line = hal::kernel_command_line(must(read_board(options.board)));
  text_output(options.json) << line << '\n';
  must(write_json(json_file, {{"command_line", line}}));
}

} // namespace

void add_config(const Command& program) {
  const Command command =
      program.add("config", "Document every key of the TOML files: type, unit, default and meaning");
  const auto options = std::make_shared<Options>();
  const auto names = std::views::keys(kinds);
  const Option kind =
      command.option("kind", options->kind, "KIND", "Which file").default_shown().one_of({names.begin(), names.end()});
  command
      .option("--command-line", options->board, "BOARD",
              "Print instead what the file of this board asks of the kernel's command line")
      .not_empty()
      .excludes(kind);
  command.json(options->json);
  command.on_run([options] { options->board.empty() ? config(*options) : print_command_line(*options); });
}

} // namespace rtexec::command

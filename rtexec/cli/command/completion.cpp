#include "config/builtin_boards.hpp"
#include "config/base/text.hpp"
#include "rtexec/cli/command/command.hpp"
#include "rtexec/cli/options/option_type.hpp"
#include "rtexec/cli/text/columns.hpp"
#include "tasks/engine/models/models.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rtexec::command {

namespace {

/// The completions that a shell can offer for a value. Both members are empty if only the user knows the value.
struct Values {
  std::vector<std::string> words;
  std::optional<std::string> files; // extension of the files; empty: any file; nullopt: no files
  bool folders = false;
};

/// An option, or an argument (without names) that is identified by its position.
struct Item {
  std::vector<std::string> names; // for example "--output", "-o"; empty: an argument
  std::string type;               // empty: an option without a value
  std::string help;
  Values values;
};

/// A command, with its options, arguments and subcommands.
struct CompletedCommand {
  std::string path; // for example "rtexec calibrate bandwidth"
  std::string name;
  std::string help;
  std::vector<Item> options, arguments;
  std::vector<CompletedCommand> subcommands;
};

/// Returns `text`, shortened, and without characters that are special within quotes or brackets of any shell.
std::string quotable(const std::string& text) {
  std::string result = text.substr(0, text.find_first_of(";:("));
  std::erase_if(result, [](char c) { return std::string_view("'\"`\\[]$").find(c) != std::string_view::npos; });
  return report::cut(result.substr(0, result.find_last_not_of(' ') + 1), 70);
}

Values values_of(const OptionType& type, const std::vector<std::string>& subcommands) {
  Values values{.words = type.choices, .files = {}, .folders = type.name == "DIR" || type.name == "FOLDER"};
  if (type.name == "BOARD") {
    for (const auto& board : config::builtin_boards()) values.words.emplace_back(board.name);
    values.files = "toml";
  } else if (type.name == "NETWORK") {
    for (const auto& model : tasks::models()) values.words.emplace_back(model.name);
  } else if (type.name == "STORE") {
    values.words = {"pinned", "pageable"};
  } else if (type.name == "SUBCOMMAND") {
    values.words = subcommands;
  } else if (type.name == "FILE" || type.name == "INPUT" || type.name == "OUT" || type.name == "PATH") {
    values.files.emplace();
  } else if (const auto dot = type.name.find('.'); dot != std::string::npos && type.name[dot + 1] != '.') {
    values.files = type.name.substr(dot + 1, type.name.find(',') - dot - 1); // "MODEL.onnx,..."
  }
  return values;
}

CompletedCommand command_of(const CLI::App& app, const std::string& before,
                            const std::vector<std::string>& subcommands) {
  CompletedCommand command{.path = before + app.get_name(),
                           .name = app.get_name(),
                           .help = quotable(app.get_description()),
                           .options = {},
                           .arguments = {},
                           .subcommands = {}};
  for (const CLI::Option* const option : app.get_options()) {
    const OptionType type = type_of(*option);
    Item item{.names = names_of(*option),
              .type = type.name,
              .help = quotable(option->get_description()),
              .values = values_of(type, subcommands)};
    (item.names.empty() ? command.arguments : command.options).push_back(std::move(item));
  }
  for (const CLI::App* const each : app.get_subcommands({}))
    command.subcommands.push_back(command_of(*each, command.path + " ", subcommands));
  return command;
}

template <class Each> void for_all(const CompletedCommand& command, const Each& each) {
  each(command);
  for (const CompletedCommand& inner : command.subcommands) for_all(inner, each);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> names_of(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> names;
  for (const CompletedCommand& each : commands) names.push_back(each.name);
  return names;
}

// ---- bash -----------------------------------------------------------------------------------------------------------

constexpr const char* bash_function = R"sh(
_rtexec() {
  local current=${COMP_WORDS[COMP_CWORD]} command=rtexec argument=1 option= i word kind values
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == '=' ]]; then continue # --json=FILE is three words
    elif [[ -n $option ]]; then option=
    elif [[ $word == -* ]]; then [[ -n $(_rtexec_takes "$command $word") ]] && option=$word
    elif [[ " $(_rtexec_subcommands "$command") " == *" $word "* ]]; then command+=" $word" argument=1
    else argument=$((argument + 1)); fi
  done
  [[ $current == '=' ]] && current=
  COMPREPLY=()
  while read -r kind values; do
    case $kind in
      words) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$values" -- "$current") ;;
      files)
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f ${values:+-X "!*.$values"} -- "$current")
        [[ -z $values ]] || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current") ;;
      folders)
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current") ;;
    esac
  done < <(
    if [[ -n $option ]]; then _rtexec_takes "$command $option"
    elif [[ $current == -* ]]; then echo "words $(_rtexec_options "$command")"
    else _rtexec_takes "$command $argument"; ((argument > 1)) || echo "words $(_rtexec_subcommands "$command")"; fi)
}
complete -F _rtexec rtexec
)sh";

/// Prints a case of the shell function `_rtexec_takes`. The case prints a line for each kind of value, or "any" if
/// the values are unknown.
void print_bash_case(const std::string& pattern, const Item& item) {
  if (item.type.empty()) return;
  std::string lines;
  if (!item.values.words.empty()) lines += " 'words " + joined(item.values.words) + "'";
  if (item.values.files) lines += " 'files " + *item.values.files + "'";
  if (item.values.folders) lines += " folders";
  std::cout << "    " << pattern << ") printf '%s\\n'" << (lines.empty() ? " any" : lines) << " ;;\n";
}

template <class Words>
void print_bash_words(const std::string& name, const CompletedCommand& program, const Words& words) {
  std::cout << name << "() {\n  case $1 in\n";
  for_all(program, [&](const CompletedCommand& command) {
    if (const std::string known = joined(words(command)); !known.empty())
      std::cout << "    '" << command.path << "') echo '" << known << "' ;;\n";
  });
  std::cout << "  esac\n}\n";
}

void print_bash(const CompletedCommand& program) {
  std::cout << "# Completion of rtexec in bash.\n_rtexec_takes() {\n  case $1 in\n";
  for_all(program, [](const CompletedCommand& command) {
    for (const Item& option : command.options) {
      std::string pattern;
      for (const std::string& name : option.names)
        pattern += (pattern.empty() ? "'" : " | '") + command.path + " " + name + "'";
      print_bash_case(pattern, option);
    }
    for (std::size_t i = 0; i < command.arguments.size(); ++i)
      print_bash_case("'" + command.path + " " + std::to_string(i + 1) + "'", command.arguments[i]);
  });
  std::cout << "  esac\n}\n";
  print_bash_words("_rtexec_options", program, [](const CompletedCommand& command) {
    std::vector<std::string> names;
    for (const Item& option : command.options) names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
  });
  print_bash_words("_rtexec_subcommands", program,
                   [](const CompletedCommand& command) { return names_of(command.subcommands); });
  std::cout << bash_function;
}

// ---- zsh ------------------------------------------------------------------------------------------------------------

std::string function_of(const CompletedCommand& command) {
  std::string name = "_" + command.path;
  std::ranges::replace(name, ' ', '_');
  return name;
}

/// Returns ":TYPE:{...}" for zsh. The braces contain the shell commands that complete the value.
std::string zsh_action(const Item& item, bool subcommands) {
  if (item.type.empty()) return "";
  std::string action = subcommands ? "_describe subcommand known; " : "";
  if (!item.values.words.empty()) action += "compadd -- " + joined(item.values.words) + "; ";
  if (item.values.files)
    action += item.values.files->empty() ? "_files; " : "_files -g \"*." + *item.values.files + "\"; ";
  if (item.values.folders) action += "_files -/; ";
  return ":" + item.type + ":" + (action.empty() ? " " : "{" + action.substr(0, action.size() - 2) + "}");
}

void print_zsh(const CompletedCommand& program) {
  std::cout << "#compdef rtexec\n# Completion of rtexec in zsh.\n";
  for_all(program, [](const CompletedCommand& command) {
    std::cout << function_of(command) << "() {\n";
    if (!command.subcommands.empty()) {
      std::cout << "  local -a known=(\n";
      for (const CompletedCommand& each : command.subcommands)
        std::cout << "    '" << each.name << ":" << each.help << "'\n";
      std::cout << "  )\n  if (( CURRENT > 2 )); then\n    case $words[2] in\n";
      for (const CompletedCommand& each : command.subcommands)
        std::cout << "      " << each.name << ") shift words; (( CURRENT-- )); " << function_of(each)
                  << "; return ;;\n";
      std::cout << "    esac\n  fi\n";
    }
    std::cout << "  _arguments";
    for (const Item& option : command.options)
      for (const std::string& name : option.names)
        std::cout << " \\\n    '" << name << "[" << option.help << "]" << zsh_action(option, false) << "'";
    std::vector<Item> arguments = command.arguments;
    if (arguments.empty() && !command.subcommands.empty()) arguments.push_back({{}, "subcommand", "", {}});
    for (std::size_t i = 0; i < arguments.size(); ++i)
      std::cout << " \\\n    '" << i + 1 << zsh_action(arguments[i], i == 0 && !command.subcommands.empty()) << "'";
    std::cout << "\n}\n";
  });
  std::cout << "if [[ $funcstack[1] == _rtexec ]]; then _rtexec \"$@\"; else compdef _rtexec rtexec; fi\n";
}

// ---- fish -----------------------------------------------------------------------------------------------------------

std::string fish_values(const Item& item) {
  std::string words = joined(item.values.words);
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : " ") + more; };
  if (item.values.files)
    add(item.values.files->empty() ? "(__fish_complete_path)" : "(__fish_complete_suffix ." + *item.values.files + ")");
  if (item.values.folders) add("(__fish_complete_directories)");
  return words.empty() ? "" : " -a '" + words + "'";
}

/// Returns the fish condition that is true if the command line has this command, but no subcommand of it yet.
std::string fish_condition(const CompletedCommand& command) {
  std::string condition;
  for (const std::string_view word : config::parts(command.path, ' '))
    if (word != "rtexec") condition += "__fish_seen_subcommand_from " + std::string(word) + "; and ";
  const std::string inner = joined(names_of(command.subcommands));
  condition += inner.empty() ? "true" : "not __fish_seen_subcommand_from " + inner;
  return " -n '" + condition + "'";
}

void print_fish(const CompletedCommand& program) {
  std::cout << "# Completion of rtexec in fish.\ncomplete -c rtexec -f\n";
  for_all(program, [](const CompletedCommand& command) {
    const std::string begin = "complete -c rtexec" + fish_condition(command);
    for (const CompletedCommand& each : command.subcommands)
      std::cout << begin << " -a " << each.name << " -d '" << each.help << "'\n";
    for (const Item& item : command.arguments)
      if (const std::string values = fish_values(item); !values.empty()) std::cout << begin << values << '\n';
    for (const Item& option : command.options) {
      std::cout << begin;
      for (const std::string& name : option.names)
        std::cout << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
      std::cout << (option.type.empty() ? "" : " -x" + fish_values(option)) << " -d '" << option.help << "'\n";
    }
  });
}

} // namespace

void add_completion(const Command& program) {
  const Command command = program.add("completion", "Print a script for command-line completion in a shell");
  const auto shell = std::make_shared<std::string>();
  command.option("shell", *shell, "SHELL", "Shell for which the script is printed")
      .required()
      .one_of({"bash", "zsh", "fish"});
  command.on_run([&parser = program.parser(), shell] {
    std::vector<std::string> subcommands;
    for (const CLI::App* const each : parser.get_subcommands({})) subcommands.push_back(each->get_name());
    const CompletedCommand all = command_of(parser, "", subcommands);
    *shell == "bash" ? print_bash(all) : *shell == "zsh" ? print_zsh(all) : print_fish(all);
  });
}

} // namespace rtexec::command

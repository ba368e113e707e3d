// Subcommands and their options. What parses them, CLI11, is all in headers and takes seconds to compile in each file
// that names it: main.cpp, options.cpp and what shows options alone do.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace rtexec::command {

/// An option or an argument of a command. What is asked of its value is shown by help, and completes it in a shell.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required() const;
  /// Help shows the value that is there now.
  Option default_shown() const;
  Option one_of(std::vector<std::string> values) const;
  /// A whole number.
  Option within(int least, int most) const;
  /// A number, which "nan" is not.
  Option within(double least, double most) const;
  Option not_empty() const;
  Option existing_file() const;
  Option existing_folder() const;
  Option existing_path() const;
  /// A list in one word: the word that follows is another argument.
  Option separated_by(char separator) const;
  Option needs(const Option& other) const;
  Option excludes(const Option& other) const;

  [[nodiscard]] std::string name() const; // "--output"
  [[nodiscard]] bool given() const;

 private:
  friend class Command;
  CLI::Option* option_;
};

/// The program, or a command of it. The parser owns it.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  [[nodiscard]] Command add(const std::string& name, const std::string& help) const;
  void needs_subcommand() const;

  /// With a value, which help calls `type`. Argument where `names` begins without a dash.
  template <class Value>
  Option option(const std::string& names, Value& value, const std::string& type, const std::string& help) const;
  Option flag(const std::string& name, bool& value, const std::string& help) const;
  /// What every command takes: --json FILE ("-" for standard output).
  Option json(std::string& file) const;
  /// Those it has so far, but for --help.
  [[nodiscard]] std::vector<Option> options() const;
  void excludes(const Option& option) const;

  void on_run(std::function<void()> run) const;
  [[nodiscard]] bool given() const;

  /// For what shows all options: help and completion.
  [[nodiscard]] CLI::App& parser() const { return *app_; }

 private:
  CLI::App* app_;
};

} // namespace rtexec::command

// libbabeltrace2's objects with owners, and its source of CTF traces.
#pragma once

#include <rtexec/result.hpp>

#include <babeltrace2/babeltrace.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace rtexec::traces {

template <auto put> struct Put {
  template <class T> void operator()(T* object) const { put(object); }
};
using Graph = std::unique_ptr<bt_graph, Put<bt_graph_put_ref>>;
using Plugin = std::unique_ptr<const bt_plugin, Put<bt_plugin_put_ref>>;
using Value = std::unique_ptr<bt_value, Put<bt_value_put_ref>>;
using SinkClass = std::unique_ptr<bt_component_class_sink, Put<bt_component_class_sink_put_ref>>;

/// Why libbabeltrace2 failed last in this thread, in its innermost words, and forgotten then; empty: it did not.
[[nodiscard]] std::string take_last_error();

/// What `ask` answers in a child process, or how that ended without an answer, which is never empty: libbabeltrace2
/// aborts on some metadata, as where a structure has two members of one name.
[[nodiscard]] std::string answer_of_child(const std::function<std::string()>& ask);

/// The plug-in that reads folders of CTF files.
class CtfSource {
 public:
  /// refused: it is not installed.
  [[nodiscard]] static Result<CtfSource> find();

  /// A component that reads the trace in `folder`; nullptr: see take_last_error().
  [[nodiscard]] const bt_component_source* add_to(bt_graph* graph, const std::filesystem::path& folder) const;
  /// Why the trace in `folder` cannot be opened; empty: it can. Tried in a child process: damaged metadata end it.
  [[nodiscard]] std::string refusal(const std::filesystem::path& folder) const;

 private:
  explicit CtfSource(Plugin plugin) : plugin_(std::move(plugin)) {}

  Plugin plugin_;
};

} // namespace rtexec::traces

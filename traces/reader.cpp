#include "traces/reader.hpp"

#include <babeltrace2/babeltrace.h>

#include <memory>
#include <utility>
#include <vector>

namespace rtexec::traces {
namespace {

namespace fs = std::filesystem;

template <auto put>
struct Put {
  template <class T>
  void operator()(T* object) const { put(object); }
};
using Graph = std::unique_ptr<bt_graph, Put<bt_graph_put_ref>>;
using Plugin = std::unique_ptr<const bt_plugin, Put<bt_plugin_put_ref>>;
using Value = std::unique_ptr<bt_value, Put<bt_value_put_ref>>;

/// Why libbabeltrace2 failed last, from the cause outwards.
std::string last_error() {
  std::string text;
  const bt_error* error = bt_current_thread_take_error();
  if (!error) return text;
  for (std::uint64_t i = bt_error_get_cause_count(error); i-- > 0;)
    text += std::string("\n  ") + bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, i));
  bt_error_release(error);
  return text;
}

std::unexpected<Error> damaged(const fs::path& folder, std::string_view doing) {
  return fail(Errc::bad_input, folder.string() + ": the trace cannot be read (" + std::string(doing) + "):" + last_error());
}

struct Reading {
  const std::function<void(const RecordedEvent&)>& each;
  Losses losses;
};

void take(const bt_message* message, Reading& reading) {
  std::uint64_t count = 0;
  switch (bt_message_get_type(message)) {
    case BT_MESSAGE_TYPE_EVENT: {
      const bt_clock_snapshot* clock = bt_message_event_borrow_default_clock_snapshot_const(message);
      const Instant time{Duration(static_cast<std::int64_t>(bt_clock_snapshot_get_value(clock)))};
      reading.each(RecordedEvent(bt_message_event_borrow_event_const(message), time));
      break;
    }
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
      if (bt_message_discarded_events_get_count(message, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE) reading.losses.events += count;
      break;
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
      if (bt_message_discarded_packets_get_count(message, &count) == BT_PROPERTY_AVAILABILITY_AVAILABLE) reading.losses.packets += count;
      break;
    default: break;
  }
}

bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator* iterator, void* data) {
  bt_message_array_const messages;
  std::uint64_t count = 0;
  switch (bt_message_iterator_next(iterator, &messages, &count)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK: break;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END: return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN: return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_MEMORY_ERROR: return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_MEMORY_ERROR;
    default: return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    take(messages[i], *static_cast<Reading*>(data));
    bt_message_put_ref(messages[i]);
  }
  return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/// CTF traces under `folder`: each is a folder with a file "metadata".
Result<std::vector<fs::path>> find_traces(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename() == "metadata") found.push_back(entry->path().parent_path());
  if (error) return fail(Errc::bad_input, folder.string() + ": the trace cannot be read: " + error.message());
  if (found.empty()) return fail(Errc::bad_input, folder.string() + ": holds no trace (no file named \"metadata\")");
  return found;
}

const bt_component_class_source* source_class(const Plugin& ctf) {
  return ctf ? bt_plugin_borrow_source_component_class_by_name_const(ctf.get(), "fs") : nullptr;
}

const bt_component_class_filter* muxer_class(const Plugin& utils) {
  return utils ? bt_plugin_borrow_filter_component_class_by_name_const(utils.get(), "muxer") : nullptr;
}

Plugin find_plugin(const char* name) {
  const bt_plugin* plugin = nullptr;
  if (bt_plugin_find(name, BT_TRUE, BT_FALSE, BT_TRUE, BT_FALSE, BT_FALSE, &plugin) != BT_PLUGIN_FIND_STATUS_OK) return nullptr;
  return Plugin(plugin);
}

const bt_component_source* add_source(bt_graph* graph, const bt_component_class_source* type, const fs::path& trace) {
  const Value parameters(bt_value_map_create());
  bt_value* inputs = nullptr;
  if (!parameters || bt_value_map_insert_empty_array_entry(parameters.get(), "inputs", &inputs) != BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
      bt_value_array_append_string_element(inputs, trace.c_str()) != BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK)
    return nullptr;
  const bt_component_source* source = nullptr;
  bt_graph_add_source_component(graph, type, trace.c_str(), parameters.get(), BT_LOGGING_LEVEL_NONE, &source);
  return source;
}

/// The muxer adds an input port each time its last one is taken.
bool connect(bt_graph* graph, const bt_component_source* source, const bt_component_filter* muxer) {
  for (std::uint64_t i = 0; i < bt_component_source_get_output_port_count(source); ++i) {
    const std::uint64_t last = bt_component_filter_get_input_port_count(muxer) - 1;
    if (bt_graph_connect_ports(graph, bt_component_source_borrow_output_port_by_index_const(source, i),
                               bt_component_filter_borrow_input_port_by_index_const(muxer, last), nullptr) !=
        BT_GRAPH_CONNECT_PORTS_STATUS_OK)
      return false;
  }
  return true;
}

std::optional<std::string_view> name_of_value(const bt_field* enumeration) {
  bt_field_class_enumeration_mapping_label_array names = nullptr;
  std::uint64_t count = 0;
  if (bt_field_enumeration_unsigned_get_mapping_labels(enumeration, &names, &count) != BT_FIELD_ENUMERATION_GET_MAPPING_LABELS_STATUS_OK ||
      count == 0)
    return std::nullopt;
  return names[0];
}

} // namespace

RecordedEvent::RecordedEvent(const bt_event* event, Instant time)
    : event_(event), name_(bt_event_class_get_name(bt_event_borrow_class_const(event))), time_(time) {}

std::optional<std::int64_t> RecordedEvent::integer(const char* field) const {
  const bt_field* value = bt_field_structure_borrow_member_field_by_name_const(bt_event_borrow_payload_field_const(event_), field);
  if (!value) return std::nullopt;
  const auto type = bt_field_get_class_type(value);
  if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)) return bt_field_integer_signed_get_value(value);
  if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
    return static_cast<std::int64_t>(bt_field_integer_unsigned_get_value(value));
  return std::nullopt;
}

std::optional<std::string_view> RecordedEvent::text(const char* field) const {
  const bt_field* value = bt_field_structure_borrow_member_field_by_name_const(bt_event_borrow_payload_field_const(event_), field);
  if (!value) return std::nullopt;
  const auto type = bt_field_get_class_type(value);
  if (type == BT_FIELD_CLASS_TYPE_STRING) return bt_field_string_get_value(value);
  if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION) return name_of_value(value);
  return std::nullopt;
}

Result<Losses> read_trace(const fs::path& folder, const std::function<void(const RecordedEvent&)>& each) {
  const auto traces = find_traces(folder);
  if (!traces) return std::unexpected(traces.error());

  const Plugin ctf = find_plugin("ctf"), utils = find_plugin("utils");
  const auto* source_type = source_class(ctf);
  const auto* muxer_type = muxer_class(utils);
  if (!source_type || !muxer_type)
    return fail(Errc::refused, "the plug-ins \"ctf\" and \"utils\" of libbabeltrace2 are not installed: install the Debian package libbabeltrace2-0" +
                                   last_error());

  const Graph graph(bt_graph_create(0));
  if (!graph) return damaged(folder, "graph");
  const bt_component_filter* muxer = nullptr;
  bt_graph_add_filter_component(graph.get(), muxer_type, "by time", nullptr, BT_LOGGING_LEVEL_NONE, &muxer);
  if (!muxer) return damaged(folder, "muxer");
  for (const fs::path& trace : *traces) {
    const auto* source = add_source(graph.get(), source_type, trace);
    if (!source || !connect(graph.get(), source, muxer)) return damaged(folder, "opening");
  }

  Reading reading{each, {}};
  const bt_component_sink* sink = nullptr;
  bt_graph_add_simple_sink_component(graph.get(), "reader", nullptr, consume, nullptr, &reading, &sink);
  if (!sink || bt_graph_connect_ports(graph.get(), bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
                                      bt_component_sink_borrow_input_port_by_index_const(sink, 0), nullptr) !=
                   BT_GRAPH_CONNECT_PORTS_STATUS_OK)
    return damaged(folder, "sink");
  if (bt_graph_run(graph.get()) != BT_GRAPH_RUN_STATUS_OK) return damaged(folder, "decoding");
  return reading.losses;
}

Result<Summary> summarize(const fs::path& folder) {
  Summary summary;
  const auto losses = read_trace(folder, [&summary](const RecordedEvent& event) {
    ++summary.events;
    ++summary.by_name[std::string(event.name())];
  });
  if (!losses) return std::unexpected(losses.error());
  summary.lost = *losses;
  return summary;
}

} // namespace rtexec::traces

# The component traces: the LTTng provider, reading, WCET analysis, reports. The page of traces/report is embedded in
# the library.
$(call component,traces,policies config)
LIBS_traces := -llttng-ust -llttng-ctl -lbabeltrace2 -ldl
TEXTS += traces/report
ALONE += traces/report/perfetto.cpp

# liblttng-ust publishes probes by RCU, which ThreadSanitizer does not recognise.
$(call flags,traces/provider,$(if $(filter tsan,$(MODE)),-fno-sanitize=thread))

GENERATED_traces := $(B)/traces/report/page_files.cpp
$(GENERATED_traces): traces/report/make-page-files $(foreach type,html css js,traces/report/report_page.$(type))
	@mkdir -p $(@D)
	@$^ > $@

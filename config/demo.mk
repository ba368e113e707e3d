# The demo: six networks that need twice the device's memory.
ORDER ?=
LATE ?=
DEMO_MODELS := yolov3-tiny:320 resnet18:224 resnet50:224 googlenet:224 densenet201:224 resnext50:224
MODELS := $(foreach model,$(DEMO_MODELS),$(BUILD)/models/$(subst :,-,$(model)).onnx)
DEMO_PROFILE := $(BUILD)/demo-swap.profile.toml
DEMO := $(BUILD)/demo$(if $(LATE),-late)$(ORDER:%=-%)

$(BUILD)/models/%.onnx: | $(PROGRAM)
	@mkdir -p $(@D)
	$(Q)name='$*'; $(PROGRAM) model "$${name%-*}" --size "$${name##*-}" -o $@

# A profile is valid for one machine. It is measured on the machine that runs the demo, whenever the task set, its
# models or the program has changed.
$(DEMO_PROFILE): config/demo-swap.toml $(MODELS) $(PROGRAM)
	@echo "measuring the execution times of the demo's networks on this machine"
	$(Q)$(PROGRAM) profile config/demo-swap.toml -o $@ --jobs 15 --margin 1.25
$(DEMO).toml: $(DEMO_PROFILE) config/demo-set
	$(Q)config/demo-set $(PROGRAM) $< $@ '$(ORDER)' '$(LATE)'

.PHONY: run
run: $(PROGRAM) $(DEMO).toml ## run six networks for 30 s that need twice the device's memory (ORDER=static-priority, LATE=1: one misses its deadlines)
	@rm -rf $(DEMO).trace $(DEMO).json
	@$(PROGRAM) run $(DEMO).toml $(if $(ORDER),--order $(ORDER)) $(if $(LATE),--force --flight-recorder,--trace) $(DEMO).trace --json $(DEMO).json; status=$$?; \
	  case $$status in \
	    0|4) trace=$$(ls -dv $(DEMO).trace/snapshot-* 2>/dev/null | tail -n 1); trace=$${trace:-$(DEMO).trace}; \
	      $(PROGRAM) analyze $$trace --html $(DEMO).html > $(DEMO).txt || [ $$? = 4 ] || exit $$?; \
	      if [ -z '$(LATE)' ]; then config/demo-bounds $(DEMO).toml; else sed -n '/^Misses/,/^$$/p' $(DEMO).txt; status=0; fi; \
	      echo "what happened: $(DEMO).html, as text $(DEMO).txt; report: $(DEMO).json; trace: $$trace" ;; \
	    3) echo "the execution times may have been measured beside other load; to measure anew: rm $(DEMO_PROFILE) && make run$(if $(ORDER), ORDER=$(ORDER))" ;; \
	  esac; exit $$status

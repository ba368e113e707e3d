# The component config: task sets, boards, plans, and the TOML reader. The files of boards/ are embedded in the library.
$(call component,config)
TEXTS += config
ALONE += config/types.cpp

GENERATED_config := $(B)/config/builtin_boards.cpp
$(GENERATED_config): config/make-builtin-boards $(wildcard boards/*.toml)
	@mkdir -p $(@D)
	@$^ > $@

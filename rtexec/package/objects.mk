# Compiles each kind of file, and makes the archives of the components. Included after all components are declared.

# Files of one component are compiled together, up to UNITY lines, because most of a small file's cost is its headers.
# If UNITY is empty, each file is compiled alone. Some files are always compiled alone (ALONE): files that other
# programs link, and files that compute much.
UNITY ?= $(if $(filter fuzz,$(MODE)),,4000)
sources = $(shell find $(1) -name '*.cpp' 2>/dev/null | sort)
inside = $(patsubst %,%/%,$(filter $(1)/%,$(COMPONENTS)))
$(foreach component,$(COMPONENTS),$(eval SRC_$(component) := $(filter-out $(call inside,$(component)) $(MAINS),$(call sources,$(component)))))
# Folders whose files have the same flags and are linked into the same programs.
ROOTS := $(sort $(COMPONENTS) $(TEST_FOLDERS) $(TEXTS) $(FLAGGED) $(APART))
GROUPED := $(if $(UNITY),$(filter-out $(ALONE),$(foreach component,$(COMPONENTS),$(SRC_$(component))) $(call sources,$(TEST_FOLDERS))))
# make-unity, which groups the files, is a Python program. If Python is missing, it is installed with the packages, and
# make starts again.
ifeq ($(shell command -v python3),)
GROUPED :=
ifneq ($(filter-out help clean,$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/.packages-BUILD
endif
endif
$(foreach assignment,$(if $(GROUPED),$(shell rtexec/package/make-unity $(B)/unity $(UNITY) $(ROOTS) -- $(GROUPED))),$(eval $(assignment)))
object = $(sort $(foreach source,$(1),$(or $(UNIT_$(source)),$(B)/$(basename $(source))).o))

# Headers that are compiled once and included before every file, with the same flags except the level of optimization.
# They are not used with sanitizers, where each file has to include the headers that it uses. They are not used with
# ccache, which would then find no file in its cache. g++ 12 warns that strings in precompiled headers overflow, but
# does not warn without precompilation; these warnings are disabled.
PRECOMPILED := $(if $(filter release debug,$(MODE)),$(if $(findstring ccache,$(CXX)),,config/precompiled test/support/test_precompiled))
precompiled = $(patsubst %,$(B)/%.hpp.gch,$(filter $(1),$(PRECOMPILED)))
before_all = $(patsubst %,-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict -include $(B)/%.hpp,$(filter $(1),$(PRECOMPILED)))
BEFORE = $(call before_all,config/precompiled)
$(PRECOMPILED:%=$(B)/%.hpp.gch): $(B)/%.hpp.gch: %.hpp | $(LIBRARIES)
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)cp $< $(@:.gch=) && $(CXX) $(CPPFLAGS) $(CXXFLAGS) -w -x c++-header $< -o $@

$(B)/%.o: %.cpp $(call precompiled,config/precompiled) | $(LIBRARIES)
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(BEFORE) $(CXXFLAGS) -c $< -o $@

# Flags for groups. Files of a group see each other's names and unnamed types, so some warnings are disabled. A program
# leaves out the functions and data of a group that it does not use.
IN_GROUPS = -Wno-shadow -Wshadow=local -Wno-subobject-linkage -ffunction-sections -fdata-sections
$(B)/unity/%.o: $(B)/unity/%.cpp $(call precompiled,config/precompiled) | $(LIBRARIES)
	$(call say,CXX,$(patsubst $(B)/unity/%.cpp,%,$<) ($(shell grep -c include $<) files))
	$(Q)$(CXX) $(CPPFLAGS) $(BEFORE) $(CXXFLAGS) $(IN_GROUPS) $(if $(findstring /unity/test/,$@),$(FOREIGN_HEADERS)) -c $< -o $@

# Sources that small programs generate.
GENERATED := $(foreach component,$(COMPONENTS),$(GENERATED_$(component)))
$(GENERATED:.cpp=.o): %.o: %.cpp | $(LIBRARIES)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS) -c $< -o $@

# Code that runs once, or mostly reads and writes text, takes longer to compile than to run, so it is compiled quickly.
# Fuzzers are an exception, because they run for a long time. (At this level of optimization, g++ 12 warns that <regex>
# is uninitialized.)
QUICKLY_COMPILED := $(patsubst -O1,-Og,$(patsubst -O2,-Og,$(MODEFLAGS_$(MODE)))) -Wno-maybe-uninitialized
ifneq ($(MODE),fuzz)
$(call object,$(call sources,$(TEXTS))): private MODEFLAGS_$(MODE) := $(QUICKLY_COMPILED)
endif
$(foreach folder,$(FLAGGED),$(eval $(call object,$(call sources,$(folder))): private CXXFLAGS += $$(FLAGS_$(folder))))
$(call object,$(call sources,$(BARE))): private BEFORE :=

objects_of = $(call object,$(SRC_$(1))) $(patsubst %.cpp,%.o,$(GENERATED_$(1)))
define archive_rule
$(call archive,$(1)): $(call objects_of,$(1))
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && $(CROSS)ar rcs $$@ $$^
endef
$(foreach component,$(COMPONENTS),$(eval $(call archive_rule,$(component))))
.PHONY: ALWAYS

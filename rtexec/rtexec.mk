# The components of rtexec/, the programs and the libraries.
BELOW_RTEXEC := tasks hal traces policies config
$(call component,rtexec/runtime,$(BELOW_RTEXEC))
$(call component,rtexec/bindings,rtexec/runtime $(BELOW_RTEXEC))
$(call component,rtexec/sharing,rtexec/runtime $(BELOW_RTEXEC))
$(call component,rtexec/sharing/preload,rtexec/sharing rtexec/runtime $(BELOW_RTEXEC))
$(call component,rtexec/studies,rtexec/runtime $(BELOW_RTEXEC))
$(call component,rtexec/cli,rtexec/studies rtexec/sharing rtexec/runtime $(BELOW_RTEXEC))
$(call component,rtexec/supervisor)
$(call component,rtexec/verifier)
LIBS_rtexec/verifier := -l:libsodium.a
LIBS_all := $(foreach component,$(BELOW_RTEXEC),$(LIBS_$(component)))
MAINS := rtexec/cli/command/main.cpp rtexec/sharing/daemon/main.cpp rtexec/supervisor/main.cpp rtexec/verifier/main.cpp
TEXTS += rtexec/studies rtexec/bindings/c rtexec/cli rtexec/runtime/json rtexec/runtime/view
ALONE += $(MAINS) rtexec/supervisor/% rtexec/verifier/% rtexec/sharing/preload/%
# The part of sharing/ that the preloaded library needs is compiled apart from the daemon.
APART += rtexec/sharing/client rtexec/sharing/protocol
# Small programs that can start where nothing else runs. They need no library, and are compiled without the headers that
# all other sources include (BEFORE).
BARE += rtexec/supervisor rtexec/verifier

PROGRAM := $(B)/bin/rtexec
DAEMON := $(B)/bin/rtexecd
SUPERVISOR := $(B)/bin/rtexec-supervisor
VERIFIER := $(B)/bin/rtexec-verify
PROGRAMS := $(PROGRAM) $(DAEMON) $(SUPERVISOR) $(VERIFIER)
$(PROGRAM): $(B)/rtexec/cli/command/main.o $(call link_of,rtexec/cli)
$(DAEMON): $(B)/rtexec/sharing/daemon/main.o $(call link_of,rtexec/sharing)
$(SUPERVISOR): $(B)/rtexec/supervisor/main.o $(call link_of,rtexec/supervisor)
$(VERIFIER): $(B)/rtexec/verifier/main.o $(call link_of,rtexec/verifier)
$(PROGRAM) $(DAEMON): private LIBS := $(LIBS_all)
$(SUPERVISOR) $(VERIFIER): private LDFLAGS += $(if $(filter release debug,$(MODE)),-static)
$(VERIFIER): private LIBS := $(LIBS_rtexec/verifier)
$(PROGRAMS):
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) -o $@ $^ $(LIBS)

# The library is the runtime and its bindings.
LIBRARY := $(call link_of,rtexec/bindings)
STATIC := $(B)/lib/librtexec.a
SHARED := $(B)/lib/librtexec.so.$(VERSION)
$(STATIC): $(LIBRARY)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && { echo CREATE $@; printf 'ADDLIB %s\n' $^; echo SAVE; } | $(CROSS)ar -M

# Instances of the standard library's templates are visible in spite of -fvisibility=hidden: this list hides them.
EXPORTS := rtexec/package/exports.map
whole = -Wl,--whole-archive $(1) -Wl,--no-whole-archive
$(SHARED): $(LIBRARY) $(EXPORTS)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) -shared -Wl,-soname,librtexec.so.$(SOVERSION) -Wl,--version-script,$(EXPORTS) -o $@ $(call whole,$(LIBRARY)) $(LIBS_all)
	$(Q)ln -sf librtexec.so.$(VERSION) $(@D)/librtexec.so.$(SOVERSION) && ln -sf librtexec.so.$(SOVERSION) $(@D)/librtexec.so

# The preloaded library is loaded into programs of all kinds, which may use another C++ library. Therefore it contains
# its own C++ library, whose symbols are hidden.
PRELOAD := $(B)/lib/librtexec-preload.so
PRELOAD_EXPORTS := rtexec/sharing/preload/exports.map
ALL_DEFINED := -Wl,-z,defs -Wl,--gc-sections
$(PRELOAD): $(call link_of,rtexec/sharing/preload) $(PRELOAD_EXPORTS)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(LDFLAGS) -shared -static-libstdc++ -static-libgcc -Wl,-soname,$(@F) -Wl,--version-script,$(PRELOAD_EXPORTS) \
	  $(if $(filter release debug,$(MODE)),$(ALL_DEFINED)) -o $@ $(call whole,$<) $(filter-out $<,$(filter %.a,$^)) -l:liburing.a

# The program that runs during the build: PROGRAM, or this machine's version of it if PROGRAM is for another machine.
RUNNABLE := $(if $(CROSS),$(BUILD)/host-release/bin/rtexec,$(PROGRAM))
ifneq ($(CROSS),)
RUN_HERE := $(addprefix $(dir $(RUNNABLE)),rtexec rtexec-supervisor rtexecd)
$(RUN_HERE) &: ALWAYS
	@$(MAKE) BOARD=host MODE=release $(RUN_HERE)
endif

.PHONY: all
all: $(PROGRAMS) $(PRELOAD) $(STATIC) $(SHARED) ## build the programs and the libraries

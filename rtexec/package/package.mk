# Installed files, and files for other machines: manual pages, shell completion, package files, folders.
PUBLIC_HEADERS := $(wildcard rtexec/include/rtexec/*.h rtexec/include/rtexec/*.hpp)
# The documents link to each other, so they keep their relative paths.
DOCUMENTS := README.md CHANGELOG.md LICENSE $(shell find $(FOLDERS) boards test -name '*.md') $(wildcard config/*.toml rtexec/runtime/view/*.jpg rtexec/examples/*)
# One manual page for the program and one for each command, made from the output of --help. Parts of this output for
# which help2man has no section become sections of their own.
COMMANDS := analyze bringup calibrate calibrate-bandwidth calibrate-cut calibrate-memory check completion config experiment experiment-init experiment-isolation experiment-memory help infer model probe profile ps restore \
  run simulate sweep top
MAN := $(B)/man/rtexec.1 $(B)/man/rtexec-supervisor.1 $(B)/man/rtexecd.8 $(COMMANDS:%=$(B)/man/rtexec-%.1)
help_page = help2man --no-info --section 1 --version-string='rtexec $(VERSION)' --include=$(B)/man/see-also --name
$(B)/man/see-also: rtexec/package/package.mk
	@mkdir -p $(@D)
	@{ echo '[see also]'; printf '.BR %s (1),\n' rtexec $(COMMANDS:%=rtexec\\-%); echo '.BR rtexecd (8)'; } > $@
man_sections = -e 's/^\.SS "Exit codes:"/.SH "EXIT STATUS"/; s/^\.SS "\(Arguments\|Subcommands\|Studies\):"/.SH "\U\1"/'
$(B)/man/rtexec.1: $(RUNNABLE) $(B)/man/see-also
	$(call say,MAN,$@)
	$(Q)$(help_page) 'run periodic DNN tasks with promised deadlines' $< -o $@.new
	$(Q)sed $(man_sections) $@.new > $@ && rm $@.new
$(B)/man/rtexec-supervisor.1: $(dir $(RUNNABLE))rtexec-supervisor $(B)/man/see-also
	$(call say,MAN,$@)
	$(Q)$(subst rtexec $(VERSION),rtexec-supervisor $(VERSION),$(help_page)) 'run a task set, and restart it if it ends or hangs' $< -o $@
$(B)/man/rtexecd.8: $(dir $(RUNNABLE))rtexecd $(B)/man/see-also
	$(call say,MAN,$@)
	$(Q)$(subst --section 1,--section 8,$(subst rtexec $(VERSION),rtexecd $(VERSION),$(help_page))) 'share one device among unmodified programs, with deadlines' $< -o $@.new
	$(Q)sed $(man_sections) $@.new > $@ && rm $@.new
$(B)/man/rtexec-%.1: $(RUNNABLE) $(B)/man/see-also
	$(call say,MAN,$@)
	$(Q)command='$(subst -, ,$*)'; $(help_page) "$$($< $$command --help | sed -n 1p)" "$< $$command" -o $@.new
	$(Q)sed $(man_sections) -e 's/^\.TH RTEXEC /.TH RTEXEC-'$$(tr a-z A-Z <<< '$*')' /; s/^rtexec \\- /rtexec-$* \\- /' $@.new > $@ && rm $@.new
.PHONY: man
man: $(MAN)
all: man

.PHONY: reference
reference: $(addprefix $(dir $(RUNNABLE)),rtexec rtexec-supervisor rtexecd) ## write the pages of rtexec/docs/reference/ from the program's help and the source
	@rtexec/docs/make-reference $(RUNNABLE) rtexec/docs/reference

COMPLETIONS := $(addprefix $(B)/completion/,bash zsh fish)
$(COMPLETIONS): $(RUNNABLE)
	@mkdir -p $(@D)
	$(Q)$< completion $(@F) > $@
all: $(COMPLETIONS)

# Files by which other builds find the library. They are made from templates, in which @NAME@ stands for a value that is
# known here.
PACKAGE_FILES := $(addprefix $(B)/package/,rtexec.pc rtexec-c.pc rtexecConfig.cmake rtexecConfigVersion.cmake rtexec@.service rtexecd.service)
LIBS_private := -pthread $(subst $(SYSROOT)/,/,$(LIBS_all))
$(PACKAGE_FILES): $(B)/package/%: rtexec/package/%.in rtexec/package/package.mk rtexec/include/rtexec/version.hpp ALWAYS
	@mkdir -p $(@D)
	@sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|; s|@SOVERSION@|$(SOVERSION)|; s|@LIBS@|$(LIBS_private)|' $< > $@

ROOT := $(DESTDIR)$(PREFIX)
ifneq ($(and $(CROSS),$(filter install,$(MAKECMDGOALS))),)
ifeq ($(DESTDIR),)
$(error BOARD=$(BOARD) is another machine ($(MACHINE)): install into a copy of its files, with DESTDIR=FOLDER)
endif
endif
DOC := $(ROOT)/share/doc/rtexec
.PHONY: install
install: all $(MAN) $(COMPLETIONS) $(PACKAGE_FILES) ## install program, libraries, headers, examples, boards, documents, completion (DESTDIR=, PREFIX=/usr/local)
	$(call say,INSTALL,$(ROOT))
	$(Q)install -D -t $(ROOT)/bin $(PROGRAM) $(SUPERVISOR) $(DAEMON)
	$(Q)install -D -m 644 -t $(ROOT)/lib $(STATIC) $(SHARED) $(PRELOAD)
	$(Q)cp -P $(B)/lib/librtexec.so $(B)/lib/librtexec.so.$(SOVERSION) $(ROOT)/lib
	$(Q)install -D -m 644 -t $(ROOT)/include/rtexec-$(SOVERSION)/rtexec $(PUBLIC_HEADERS)
	$(Q)install -D -m 644 -t $(ROOT)/lib/pkgconfig $(filter %.pc,$(PACKAGE_FILES))
	$(Q)install -D -m 644 -t $(ROOT)/lib/systemd/system $(filter %.service,$(PACKAGE_FILES))
	$(Q)install -D -m 644 -t $(ROOT)/lib/cmake/rtexec $(filter %.cmake,$(PACKAGE_FILES))
	$(Q)install -D -m 644 -t $(ROOT)/share/rtexec/boards boards/*.toml
	$(Q)install -D -m 644 -t $(ROOT)/share/rtexec/python rtexec/bindings/python/rtexec_client.py
	$(Q)install -D -m 644 -t $(ROOT)/share/man/man1 $(filter %.1,$(MAN))
	$(Q)install -D -m 644 -t $(ROOT)/share/man/man8 $(filter %.8,$(MAN))
	$(Q)install -D -m 644 $(B)/completion/bash $(ROOT)/share/bash-completion/completions/rtexec
	$(Q)install -D -m 644 $(B)/completion/zsh $(ROOT)/share/zsh/site-functions/_rtexec
	$(Q)install -D -m 644 $(B)/completion/fish $(ROOT)/share/fish/vendor_completions.d/rtexec.fish
	$(Q)set -e; for file in $(DOCUMENTS); do install -D -m 644 $$file $(DOC)/$$file; done
	$(Q)ln -sfn rtexec/examples $(DOC)/examples
	$(if $(DESTDIR),,$(Q)[ "$$(id -u)" != 0 ] || /sbin/ldconfig)

.PHONY: abi
abi: $(SHARED) | $(BUILD)/.packages-CHECK ## record names and types of the library's interface, against which checks hold it
	@rm -rf $(B)/abi && install -D -m 644 -t $(B)/abi/rtexec $(PUBLIC_HEADERS)
	@test/check-abi $(SHARED) $(B)/abi --record

# ---- a folder for another machine ----
DIST ?= $(BUILD)/rtexec-$(VERSION)-$(if $(CROSS),$(BOARD),$(MACHINE))
DIST_BENCHES ?= $(BENCHES)
# Each model is NAME:SIZE:CLASSES.
DIST_MODELS ?= efficientnet_b0:224:10
DIST_ARCHIVE ?= $(DIST).tar.xz
DIST_PROGRAMS := $(GPU_TESTS) $(DIST_BENCHES)
.PHONY: dist
dist: $(PROGRAM) $(SUPERVISOR) $(VERIFIER) $(DAEMON) $(PRELOAD) $(RUNNABLE) $(DIST_PROGRAMS) | $(BUILD)/.packages-DIST ## make a folder, and an archive of it, that runs on another Linux machine (DIST=FOLDER)
	$(call say,DIST,$(DIST))
	$(Q)SYSROOT=$(SYSROOT) TRIPLET=$(TRIPLET) RTEXEC=$(RUNNABLE) rtexec/package/make-dist $(B) '$(DIST)' $(DIST_PROGRAMS) $(DIST_MODELS)
	$(Q)[ -z '$(DIST_ARCHIVE)' ] || { tar -C '$(dir $(DIST))' --owner=0 --group=0 --sort=name -c '$(notdir $(DIST))' | xz -9 > '$(DIST_ARCHIVE)' && \
	  du -sh --apparent-size '$(DIST)' '$(DIST_ARCHIVE)'; }

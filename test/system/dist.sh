#!/bin/bash
# The folder of `make dist`, moved elsewhere and read-only, with no PATH: takes no library but glibc from the system, in any of its processes, and records and
# reads a trace.
set -eu
folder=$1
build=${folder%/*}; flavour=${folder##*/}
work=$(mktemp -d); trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
kernels=$(<"$folder/kernel_images")
kernels=$(grep -o 'sm_[0-9]*' <<<"$kernels" | sort -u | sed 's/sm_//' | xargs) # as built: what others are running is not built again
make --no-print-directory BUILD="$build" MODE="${flavour#*-}" KERNEL_ARCHITECTURES="$kernels" DIST="$work/dist" DIST_ARCHIVE= DIST_BENCHES= DIST_MODELS= dist
dist="$work/moved elsewhere"
mv "$work/dist" "$dist"
chmod -R a-w "$dist"
bad=0
glibc='/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|util|resolv|nss_[a-z]*))\.so'
foreign() { grep -vF "$dist/" | grep -vE "$glibc"; } # of full names of libraries: those of neither

for file in "$dist"/libexec/* "$dist"/test/*-tests "$dist"/lib/*.so* "$dist"/lib/babeltrace2/*.so; do
  [[ $file != */environment ]] || continue
  if ldd "$file" | grep -oE '(/[^(]*|not found)' | sed 's/ *$//' | foreign; then echo "above: needed by $file"; bad=1; fi
done
for program in "$dist"/test/*-tests; do "$program" --gtest_list_tests >/dev/null || { echo "$program does not start"; bad=1; }; done

cat > "$work/set.toml" <<'END'
[executive]
duration = "500ms"
allow_degraded = true
[[task]]
name = "a"
workload = "synthetic"
period = "50ms"
wcet = "2ms"
footprint = "1MiB"
END
cd "$work"
bare() { env -i HOME="$work" PATH=/nonexistent LD_DEBUG=libs LD_DEBUG_OUTPUT="$work/loader" "$@"; }
status=0
bare "$dist/bin/rtexec" run set.toml --trace trace --json report.json || status=$?
[ $status = 0 ] || [ $status = 4 ] || { echo "run: exit $status"; bad=1; }
bare "$dist/bin/rtexecd" --version >/dev/null || { echo "rtexecd does not start"; bad=1; }
ln -s "$dist/lib/librtexec-preload.so" preload.so # LD_PRELOAD takes no path with a space
env -i LD_PRELOAD="$work/preload.so" "$dist/bin/rtexec" --version >/dev/null 2>preloaded && [ ! -s preloaded ] || { cat preloaded; bad=1; }
PYTHONPATH=$dist/python python3 -c 'import rtexec_client' && [ -f "$dist/include/rtexec/client.h" ] || { echo "what clients need is not there"; bad=1; }
events=$(bare "$dist/bin/babeltrace2" trace | wc -l)
[ "$events" -gt 0 ] || { echo "babeltrace2 reads no event"; bad=1; }
grep -A3 '"trace"' report.json | grep -q '"lost": 0' || { echo "events are lost:"; grep -A3 '"trace"' report.json; bad=1; }
cat loader.* | sed -n 's/^.*calling init: //p' | sort -u > loaded
# libbabeltrace2 looks for plug-ins in the system's folder too, after ours; the first one of a name counts.
grep -q "^$dist/lib/babeltrace2/babeltrace-plugin-ctf.so" loaded || { echo "the plug-in for CTF is not the folder's"; bad=1; }
if grep -v '^ *$' loaded | grep -v '/babeltrace2/plugins/' | foreign; then echo "above: loaded from the system"; bad=1; fi
for library in liblttng-ust.so liblttng-ctl.so libbabeltrace2.so liburcu.so; do
  grep -q "/$library" loaded || { echo "$library was loaded by nobody: the question above was not asked"; bad=1; }
done
echo "$events events, $(wc -l < loaded) libraries, $(du -sh "$dist" | cut -f 1)"
exit $bad

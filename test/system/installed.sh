#!/bin/bash
# What is installed works elsewhere: the README's program and the examples are built by pkg-config and by CMake, with g++ and with clang, and
# run.
set -eu
. test/support/install.bash
install_tree "$1"

echo "-- loader" # a program finds the library where `make install` puts it, without a word of its user; on a copy of /etc
cat > "$work/loader" <<'LOADER'
set -eu
for each in bin include lib share; do mount -t tmpfs none /usr/local/$each; done # and not CUDA's: what is built stays as it is
cp -a /etc "$work/etc" && mount --bind "$work/etc" /etc
make --no-print-directory BUILD="$build" MODE="${flavour#*-}" install >/dev/null
echo '#include <rtexec/rtexec.h>
int main(void) { return rtexec_load("none.toml", 0) != 0; }' | cc -x c - -o "$work/loaded" $(PKG_CONFIG_PATH= pkg-config --cflags --libs rtexec-c)
LD_LIBRARY_PATH= "$work/loaded"
LOADER
if unshare -m true 2>/dev/null; then export work build flavour; unshare -m bash "$work/loader"; fi

# Built all at once: what they run is promised nothing.
strict="-Wall -Wextra -Wpedantic -Werror"
build_readme() {
  mkdir "$work/readme" && cd "$work/readme"
  sed -n '/^```cpp$/,/^```$/p' "$source/README.md" | sed '/^```/d' > main.cpp
  sed -n '/^```toml$/,/^```$/p' "$source/README.md" | sed '/^```/d; s/^period = .*/period = "5s"/' > tasks.toml # so that what a busy machine measures is not too long
  g++ main.cpp -o shared $(flags --cflags --libs rtexec)
  g++ main.cpp -o static $(flags --cflags rtexec) "$prefix/lib/librtexec.a" $(flags --libs --static rtexec | sed 's/-lrtexec//')
}
examples() { # FOLDER
  cp -r "$prefix/share/doc/rtexec/examples/." "$work/$1" && cd "$work/$1"
}
build_by_pkg_config() { # with g++
  examples by-pkg-config
  g++ $strict control.cpp -o control-cpp $(flags --cflags --libs rtexec)
  gcc -std=c11 $strict control.c -o control-c $(flags --cflags --libs rtexec-c)
  for workload in control motion; do
    gcc -std=c11 $strict -shared -fPIC lib$workload.c -o lib$workload.so $(flags --cflags rtexec-c)
  done
}
build_by_cmake() { # with clang
  examples by-cmake
  CC=clang CXX=clang++ cmake -S . -B . -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="$strict" -DCMAKE_CXX_FLAGS="$strict" >/dev/null
  cmake --build . >/dev/null
}
builds=()
for each in readme by_pkg_config by_cmake; do build_$each & builds+=($!); done

wait "${builds[0]}"
echo "-- README"
cd "$work/readme"
"$prefix/bin/rtexec" model yolov3-tiny -o yolov3-tiny.onnx --size 160
"$prefix/bin/rtexec" profile tasks.toml --jobs 3 --margin 3
"$prefix/bin/rtexec" check tasks.toml
ldd static | grep -q librtexec.so.0 && { echo "static program needs the shared library"; exit 1; }
for program in shared static; do ./$program tasks.toml; done

# The examples; nothing is promised, so that a busy machine's misses fail nothing.
run() { # FOLDER
  cd "$work/$1"
  ./control-cpp
  ./control-c
  "$prefix/bin/rtexec" profile control.toml --jobs 20 --margin 2
  "$prefix/bin/rtexec" run control.toml --duration 500ms --force --json report.json || [ $? = 4 ]
  python3 control.py control.toml
  sed -i 's/^period = .*/period = "1s"/' motion.toml # there is time for what a busy machine measures
  "$prefix/bin/rtexec" profile motion.toml --jobs 20 --margin 2
  "$prefix/bin/rtexec" check motion.toml || [ $? = 3 ] # what a busy machine measures may be too long
  "$prefix/bin/rtexec" run motion.toml --duration 2500ms --force --json motion.json || [ $? = 4 ]
  python3 -c 'import json; swapped = json.load(open("motion.json"))["swap"]; assert swapped["in_bytes"] > 0, swapped'
  grep -q '"name": "control"' report.json
}

for each in "${builds[@]:1}"; do wait "$each"; done
for folder in by-pkg-config by-cmake; do
  echo "-- examples $folder"
  run $folder
done

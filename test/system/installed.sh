#!/bin/bash
# What is installed works elsewhere: the README's program and the examples are built by pkg-config and by CMake, with g++ and with clang, and
# run; every public header compiles alone; the library exports what these headers declare and nothing else; its ABI is that of the release.
set -eu
folder=$1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
build=${folder%/*}; flavour=${folder##*/}
make --no-print-directory BUILD="$build" MODE="${flavour#*-}" install DESTDIR="$work/stage" PREFIX=/opt/rtexec >/dev/null
mkdir "$work/moved" && mv "$work/stage/opt/rtexec" "$work/moved/tree" # relocatable
prefix=$work/moved/tree; headers=$prefix/include/rtexec-0
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
flags() { pkg-config --define-variable=prefix="$prefix" "$@"; }
room() { find "$headers" -name "$1" | sort; }
source=$PWD

echo "-- completion"
for file in bash-completion/completions/rtexec zsh/site-functions/_rtexec fish/vendor_completions.d/rtexec.fish; do
  grep -q '^# Completion of rtexec' "$prefix/share/$file"
done

echo "-- headers alone"
for compiler in g++ clang++; do
  for header in $(room '*.h*'); do
    $compiler -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ -I"$headers" -include "$header" /dev/null
  done
  $compiler -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ -I"$headers" -include rtexec/rtexec.h /dev/null
done
for compiler in gcc clang; do
  for header in $(room '*.h'); do
    $compiler -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c -I"$headers" -include "$header" /dev/null
  done
done

echo "-- exported names"
nm -D --defined-only -C "$prefix/lib/librtexec.so" | sed 's/^[0-9a-f]* [A-Za-z] //' > "$work/exported"
python3 "$source/test/system/exported.py" "$work/exported" "$headers/rtexec"

echo "-- ABI of the release"
"$source/test/check-abi" "$prefix/lib/librtexec.so" "$headers"

echo "-- README"
cd "$work"
sed -n '/^```cpp$/,/^```$/p' "$source/README.md" | sed '/^```/d' > main.cpp
sed -n '/^```toml$/,/^```$/p' "$source/README.md" | sed '/^```/d' > tasks.toml
g++ main.cpp -o shared $(flags --cflags --libs rtexec)
g++ main.cpp -o static $(flags --cflags rtexec) "$prefix/lib/librtexec.a" $(flags --libs --static rtexec | sed 's/-lrtexec//')
"$prefix/bin/rtexec" model yolov3-tiny -o yolov3-tiny.onnx --size 160
"$prefix/bin/rtexec" profile tasks.toml --jobs 3 --margin 3
"$prefix/bin/rtexec" check tasks.toml
ldd static | grep -q librtexec.so.0 && { echo "static program needs the shared library"; exit 1; }
for program in shared static; do ./$program tasks.toml; done

# run FOLDER: the examples that were built there. Nothing is promised, so that a busy machine's misses fail nothing.
run() {
  cd "$1"
  ./control-cpp
  ./control-c
  "$prefix/bin/rtexec" profile control.toml --jobs 20 --margin 2
  "$prefix/bin/rtexec" run control.toml --force --json report.json || [ $? = 4 ]
  python3 control.py control.toml
  "$prefix/bin/rtexec" profile motion.toml --jobs 20 --margin 2
  "$prefix/bin/rtexec" check motion.toml
  "$prefix/bin/rtexec" run motion.toml --force --json motion.json || [ $? = 4 ]
  python3 -c 'import json; swapped = json.load(open("motion.json"))["swap"]; assert swapped["in_bytes"] > 0, swapped'
  grep -q '"name": "control"' report.json
}

echo "-- examples by pkg-config, with g++"
cp -r "$prefix/share/doc/rtexec/examples/." "$work/by-pkg-config"; cd "$work/by-pkg-config"
strict="-Wall -Wextra -Wpedantic -Werror"
g++ $strict control.cpp -o control-cpp $(flags --cflags --libs rtexec)
gcc -std=c11 $strict control.c -o control-c $(flags --cflags --libs rtexec-c)
for workload in control motion; do
  gcc -std=c11 $strict -shared -fPIC lib$workload.c -o lib$workload.so $(flags --cflags rtexec-c)
done
run "$work/by-pkg-config"

echo "-- examples by CMake, with clang"
cp -r "$prefix/share/doc/rtexec/examples/." "$work/by-cmake"; cd "$work/by-cmake"
CC=clang CXX=clang++ cmake -S . -B . -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="$strict" -DCMAKE_CXX_FLAGS="$strict" >/dev/null
cmake --build . >/dev/null
run "$work/by-cmake"

echo "-- man page and documents"
for word in check run simulate analyze top profile calibrate model infer config probe experiment; do
  grep -q "$word" "$prefix/share/man/man1/rtexec.1" || { echo "man page lacks $word"; exit 1; }
done
cd "$prefix/share/doc/rtexec"
version=$(pkg-config --modversion rtexec)
grep -q "^## \[$version\]" CHANGELOG.md || { echo "the changelog says nothing of version $version"; exit 1; }
python3 - <<'PYTHON'
import pathlib, re, sys
link = r"""(?:\]\(|(?:src|href)="|^\[[^]]+\]: *)([^)"#:\s]+)(?:#[^)"\s]*)?(?=[)"]|\s*$)"""
missing = [f"{file}: {target}" for file in pathlib.Path(".").rglob("*.md")
           for target in re.findall(link, file.read_text(), re.MULTILINE)
           if not (file.parent / target).exists()]
print("\n".join(missing))
sys.exit(bool(missing))
PYTHON

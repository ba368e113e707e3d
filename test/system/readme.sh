#!/bin/bash
# The README's program and task set work as printed: installed elsewhere, compiled through pkg-config, linked shared and static.
set -eu
folder=$1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
build=${folder%/*}; flavour=${folder##*/}
make --no-print-directory BUILD="$build" MODE="${flavour#*-}" install DESTDIR="$work/stage" PREFIX=/opt/rtexec >/dev/null
stage=$work/stage/opt/rtexec
sed -n '/^```cpp$/,/^```$/p' README.md | sed '/^```/d' > "$work/main.cpp"
sed -n '/^```toml$/,/^```$/p' README.md | sed '/^```/d' > "$work/tasks.toml"
export PKG_CONFIG_PATH=$stage/lib/pkgconfig
flags() { pkg-config --define-variable=prefix="$stage" "$@" rtexec; }
cd "$work"
g++ main.cpp -o shared $(flags --cflags --libs) -Wl,-rpath,"$stage/lib"
g++ main.cpp -o static $(flags --cflags) "$stage/lib/librtexec.a" $(flags --libs --static | sed 's/-lrtexec//')
"$stage/bin/rtexec" model yolov3-tiny -o yolov3-tiny.onnx --size 160
"$stage/bin/rtexec" profile tasks.toml --jobs 3 --margin 3
"$stage/bin/rtexec" check tasks.toml
for program in shared static; do
  ldd "$program" | grep -q librtexec.so.0 && [ $program = static ] && { echo "static program needs the shared library"; exit 1; }
  ./$program tasks.toml
done
man --warnings -l "$stage/share/man/man1/rtexec.1" >/dev/null 2>&1 || command -v man >/dev/null || true
for word in check run simulate analyze top profile calibrate model infer config probe experiment; do grep -q "$word" "$stage/share/man/man1/rtexec.1" || { echo "man page lacks $word"; exit 1; }; done

#!/bin/bash
# What is installed is whole: every public header compiles alone; the library exports what these headers declare and nothing else; its ABI is
# that of the release; completions, man pages, what clients of rtexecd need, and documents whose links lead somewhere.
set -eu
. test/support/install.bash
install_tree "$1"
public() { find "$headers" -name "$1" | sort; }

echo "-- completion"
for file in bash-completion/completions/rtexec zsh/site-functions/_rtexec fish/vendor_completions.d/rtexec.fish; do
  grep -q '^# Completion of rtexec' "$prefix/share/$file"
done

echo "-- headers alone"
for compiler in g++ clang++; do
  for header in $(public '*.h*'); do
    $compiler -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ -I"$headers" -include "$header" /dev/null
  done
  $compiler -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ -I"$headers" -include rtexec/rtexec.h /dev/null
done
for compiler in gcc clang; do
  for header in $(public '*.h'); do
    $compiler -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c -I"$headers" -include "$header" /dev/null
  done
done

echo "-- exported names"
nm -D --defined-only -C "$prefix/lib/librtexec.so" | sed 's/^[0-9a-f]* [A-Za-z] //' > "$work/exported"
python3 "$source/test/system/exported.py" "$work/exported" "$headers/rtexec"

echo "-- ABI of the release"
"$source/test/check-abi" "$prefix/lib/librtexec.so" "$headers"

echo "-- man pages"
for word in check run simulate analyze top profile calibrate model infer config probe restore experiment; do
  grep -q "$word" "$prefix/share/man/man1/rtexec.1" || { echo "man page lacks $word"; exit 1; }
done
for option in $("$prefix/bin/rtexecd" --help | grep -oE -- '--[a-z]+'); do
  sed 's/\\//g' "$prefix/share/man/man8/rtexecd.8" | grep -q -- "$option" || { echo "man page of rtexecd lacks $option"; exit 1; }
done
for section in ARGUMENTS EXAMPLES 'EXIT STATUS' ENVIRONMENT FILES; do
  grep -qE "^\.SH \"?$section" "$prefix/share/man/man8/rtexecd.8" || { echo "man page of rtexecd has no $section"; exit 1; }
done

echo "-- daemon and its clients"
"$prefix/bin/rtexecd" --version
grep -q '^ExecStart=/opt/rtexec/bin/rtexecd ' "$prefix/lib/systemd/system/rtexecd.service"
for unit in rtexecd.service rtexec@.service; do # who records is of the unit too, and is ended last
  grep -qx 'KillMode=mixed' "$prefix/lib/systemd/system/$unit" || { echo "$unit ends all its processes at once"; exit 1; }
done
LD_PRELOAD=$prefix/lib/librtexec-preload.so PYTHONPATH=$prefix/share/rtexec/python python3 -c 'import rtexec_client
with rtexec_client.job(): print("a job without a daemon")
async def later(): pass
def some(): yield
for each in later, some:
  try: rtexec_client.job(each)
  except TypeError: continue
  raise SystemExit("a job that ends before its work begins")'

echo "-- documents"
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

#!/bin/bash
# Networks that others compute: ONNX Runtime as a back end beside our own engine, profiled, proved, run and traced, with the bits
# that ONNX Runtime gives by itself; a back end on a page; what is no back end is told.
set -u
. test/support/expect.bash
root=$PWD
enter "$1"
python=${folder%/*}/venv/bin/python
command -v gcc g++ >/dev/null || { echo "skipped: no compiler"; exit 77; }
[ -x "$python" ] || { echo "skipped: no ONNX Runtime"; exit 77; }
ask() { python3 -c "import json; d = json.load(open('$1')); print($2)"; } # FILE.json EXPRESSION

# Built as somebody would who has the headers and the library.
ln -s "$("$python" -c 'import glob, os, onnxruntime; print(*glob.glob(os.path.dirname(onnxruntime.__file__) + "/capi/libonnxruntime.so.*"))')" libonnxruntime.so.1
g++ -std=c++17 -O2 -Wall -Wextra -Werror -shared -fPIC -I"$root/rtexec/include" -I"$root" "$root/test/backends/onnxruntime.cpp" \
  -o librtexec-backend-onnxruntime.so libonnxruntime.so.1 '-Wl,-rpath,$ORIGIN' || exit 1
gcc -std=c11 -O2 -Wall -Wextra -Werror -shared -fPIC -I"$root/rtexec/include" "$root/rtexec/examples/libdouble.c" -o libdouble.so || exit 1
cp "$root"/rtexec/examples/double.{toml,txt} .

for model in lenet5:32 mobilenet_v3:64; do "$rtexec" model ${model%:*} --size ${model#*:} -o ${model%:*}.onnx >/dev/null || exit 1; done
task() { printf '[[task]]\nname = "%s"\nmodel = "%s.onnx"\nperiod = "200ms"\n%s\n' "$1" "$2" "${3-}"; }
{ printf '[executive]\nduration = "3s"\nallow_degraded = true\n'
  task ours_small lenet5
  task ours_large mobilenet_v3
  task theirs_small lenet5 'backend = "onnxruntime"
outputs = [{ to = "file:out" }]
inputs = [{ tensor = "image", from = "small.npy" }]'
  task theirs_large mobilenet_v3 'backend = "./librtexec-backend-onnxruntime.so"
outputs = [{ to = "file:out" }]
inputs = [{ tensor = "image", from = "large.npy" }]'
} > set.toml
cat > alone.py <<'END'
import sys, numpy, onnxruntime
what, model, values = sys.argv[1:4]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
given = session.get_inputs()[0]
if what == "make":
    numpy.save(values, numpy.random.default_rng(7).random(given.shape, dtype=numpy.float32))
    print(given.name)
else:
    expected = session.run(None, {given.name: numpy.load(values)})[0]
    files = sys.argv[4:]
    print(len(files) > 0 and all(numpy.load(file).tobytes() == expected.tobytes() for file in files))
END
for size in small:lenet5 large:mobilenet_v3; do
  name=$("$python" alone.py make ${size#*:}.onnx ${size%:*}.npy)
  sed -i "/${size%:*}.npy/s/\"image\"/\"$name\"/" set.toml
done
export LD_LIBRARY_PATH=$work
expect 0 'WCETs' "$rtexec" profile set.toml --jobs 5
expect '0 5' 'Verdict: .*proved' "$rtexec" check set.toml --json check.json
expect 0 '^True True$' ask check.json "all(t['memory']['outside_bytes'] > 100000 for t in d['tasks'] if 'theirs' in t['name']), all(t['memory']['outside_bytes'] == 0 for t in d['tasks'] if 'ours' in t['name'])"
expect '0 4' 'Report' "$rtexec" run set.toml --trace traced --json run.json
expect 0 '^True$' ask run.json "all(t['completed'] >= 3 and t['failed'] == 0 for t in d['tasks'])"
expect '0 4' 'theirs_large' "$rtexec" analyze traced
expect 0 '^True$' "$python" alone.py compare lenet5.onnx small.npy out/latest/theirs_small/*.npy
expect 0 '^True$' "$python" alone.py compare mobilenet_v3.onnx large.npy out/latest/theirs_large/*.npy
name=$("$python" alone.py make lenet5.onnx small.npy)
expect 0 'executed in' "$rtexec" infer lenet5.onnx "$name=small.npy" --backend onnxruntime -o once/ --json once.json
expect 0 '^True$' "$python" alone.py compare lenet5.onnx small.npy once/*.npy
expect 0 "^host \[\]$" ask once.json "d['device'], d['notes']"

# The back end on a page, and what its author may get wrong.
expect 0 'WCETs' "$rtexec" profile double.toml --jobs 5
expect '0 4' 'Report' "$rtexec" run double.toml --force
expect 0 'executed in .* \(median of 3' "$rtexec" infer double.txt --backend ./libdouble.so --repeat 3
expect 2 "back end 'double 1': write how many floats" "$rtexec" infer lenet5.onnx --backend ./libdouble.so
expect 2 'constant: only for the built-in back end' "$rtexec" infer double.txt --backend ./libdouble.so --constant x=1
expect 2 "a constant is given for 'nowhere', which is not an input" "$rtexec" infer lenet5.onnx --backend rtexec --constant nowhere=1
expect 2 'arguments requires --backend' "$rtexec" infer lenet5.onnx --arguments threads=1
expect 2 'libnowhere.so' "$rtexec" infer lenet5.onnx --backend ./libnowhere.so
sed 's/64 2.0/none/' double.txt > wrong.txt; sed 's/double.txt/wrong.txt/' double.toml > wrong.toml
expect 2 "wrong.txt: back end 'double 1': write how many floats" "$rtexec" check wrong.toml
sed 's/^backend.*/backend = "nowhere"/' double.toml > nowhere.toml
expect 2 "librtexec-backend-nowhere.so: cannot open shared object file.*; install it where the dynamic linker looks" "$rtexec" check nowhere.toml
sed 's/^backend.*/backend = ".\/double.txt"/' double.toml > text.toml
expect 2 "double.txt: (invalid ELF header|file too short)" "$rtexec" check text.toml
printf '#include <rtexec/backend.h>\nconst rtexec_backend* rtexec_backend_get(void) {\n  static const rtexec_backend b = {sizeof b, 2, "new", 1, 0};\n  return &b;\n}\n' > new.c
gcc -shared -fPIC -I"$root/rtexec/include" new.c -o libnew.so
sed 's/libdouble/libnew/' double.toml > new.toml
expect 2 'is of version 2 of <rtexec/backend.h>, but this rtexec has version 1: it needs a newer rtexec' "$rtexec" check new.toml
sed 's/^period.*/&\nmemory_policy = "M"/' double.toml > managed.toml
expect 2 "memory_policy: only the built-in back end supports policies other than D" "$rtexec" check managed.toml
exit $bad

#!/bin/bash
# make-image, with stand-ins for Debian's packages: which sets and folders it refuses, and what it makes of a board's own kernel and files.
set -u
. test/support/expect.bash
top=$PWD
enter "$1"
for program in bsdtar zstd depmod; do command -v $program >/dev/null || { echo "$program is not installed"; exit 77; }; done
triplet=$(uname -m)-linux-gnu
mkdir -p base/{bin,boot} base/usr/{bin,lib/$triplet} dist/{bin,lib,libexec,share}
touch base/bin/busybox base/usr/bin/cyclictest base/usr/lib/$triplet/libnuma.so.1 base/boot/{vmlinuz,config}-6.1.0 base/.packages dist/lib/a.so
ln -s usr/lib base/lib; mkdir -p base/lib/modules/6.1.0/kernel; echo "libc6 /lib/$triplet/libc.so.6" > base/.files; touch base/lib/$triplet/libc.so.6
touch base/lib/modules/6.1.0/modules.{order,builtin,builtin.modinfo} Image
image() { # SET IMAGE [KERNEL OVERLAY]
  (cd "$top" && TRIPLET=$triplet RTEXEC=$rtexec boards/image/make-image host "$work/dist" "$work/base" "$work/base" "$work/$1" "$work/$2" "${@:3}")
}
holds() { bsdtar -tf "$1/initramfs" "./$2" >/dev/null 2>&1 || { echo "$1 has no $2"; bad=1; }; }
mkdir -p "my set/models"
"$rtexec" model lenet5 --size 32 -o "my set/models/a b.onnx" >/dev/null
printf '[[task]]\nname="a"\nmodel="models/a b.onnx"\nperiod="1s"\nwcet="1ms"\n' > "my set/tasks.toml"

expect 2 'my set/safe.toml is missing' image "my set" "an image"
cp "my set/tasks.toml" "my set/safe.toml"
expect 0 'an image: kernel ' image "my set" "an image"
holds "an image" "opt/rtexec/set/models/a b.onnx"
holds "an image" init
cp -r "an image" before
expect 0 '' image "my set" "an image"
diff -r "an image" before || bad=1

# What lies beside the set is not in the image.
mv "my set/models" .
sed -i 's|models/|../models/|' "my set/safe.toml"
expect 2 'no such file' image "my set" "an image"
expect 2 'my set/tasks.toml is no task set of an image: all that it names has to be below' image "my set" "an image"
cp -r models "my set/"
expect 2 'my set/safe.toml is no task set' image "my set" "an image"
cp "my set/tasks.toml" "my set/safe.toml"
diff -r "an image" before || bad=1 # what is refused changes nothing

# Nothing is removed but an image.
mkdir home empty; touch home/letter
expect 2 'home is there, and no image' image "my set" home
[ -e home/letter ] || { echo "removed"; bad=1; }
expect 0 '' image "my set" empty

# Files of a board's own, as in its root file system: lib is a folder there, and a link in the image.
mkdir -p overlay/lib/modules/4.9.140/kernel overlay/etc "overlay/usr/lib/$triplet"; touch "overlay/usr/lib/$triplet/libcuda.so.1"
printf 'nvgpu\n' > overlay/etc/modules
expect 0 'an image: kernel ' image "my set" "an image" "$work/Image" "$work/overlay"
holds "an image" usr/lib/modules/4.9.140/kernel
holds "an image" usr/lib/$triplet/libcuda.so.1
[ "$(bsdtar -xOf "an image/initramfs" ./etc/modules)" = nvgpu ] || { echo "the overlay's modules are not loaded"; bad=1; }
expect 2 'OVERLAY=nowhere is no folder' image "my set" "an image" "$work/Image" nowhere

# A disk that is full, and a second call on one that is not.
# Ctrl-C ends it, whatever the command that it meets makes of that, and leaves no half of an image: the next call makes it.
printf '#!/bin/bash\ntrap "exit 5" INT\n: > "%s"\nsleep 30 & wait\n' "$work/checks" > slow; chmod +x slow
export -f image; export top triplet work
rtexec=$work/slow setsid env --default-signal=INT bash -c 'image "my set" stopped' & group=$!
await '[ -e checks ]'
kill -INT -- -$group; wait $group; status=$?
[ $status = 130 ] && ! compgen -G 'stopped*' || { echo "exit $status of one that was interrupted"; bad=1; }
expect 0 'stopped: kernel ' image "my set" stopped

if mkdir full && mount -t tmpfs -o size=64k none full 2>/dev/null; then
  expect "1 2" 'No space left' image "my set" full/image
  [ -z "$(ls full)" ] || { echo "left: $(ls full)"; bad=1; }
  mount -o remount,size=64m full
  expect 0 'full/image: kernel ' image "my set" full/image
  umount full
fi
exit $bad

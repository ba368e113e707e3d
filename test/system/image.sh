#!/bin/bash
# make-image, with stand-ins for Debian's packages: which sets and folders it refuses, what it makes of a board's own kernel and files, and what
# rtexec-verify finds in the images that it makes, signed and not. What such an image does when it boots: test/image/check-verification.
set -u
. test/support/expect.bash
top=$PWD
enter "$1"
for program in bsdtar zstd depmod openssl; do command -v $program >/dev/null || { echo "$program is not installed"; exit 77; }; done
triplet=$(uname -m)-linux-gnu
mkdir -p base/{bin,boot} base/usr/{bin,lib/$triplet} dist/{bin,lib,libexec,share}
touch base/bin/busybox base/usr/bin/cyclictest base/usr/lib/$triplet/libnuma.so.1 base/boot/{vmlinuz,config}-6.1.0 base/.packages dist/lib/a.so
ln -s usr/lib base/lib; mkdir -p base/lib/modules/6.1.0/kernel; echo "libc6 /lib/$triplet/libc.so.6" > base/.files; touch base/lib/$triplet/libc.so.6
touch base/lib/modules/6.1.0/modules.{order,builtin,builtin.modinfo} Image
cp "$folder/bin/rtexec-verify" dist/libexec/
image() { # SET IMAGE [KERNEL [OVERLAY [KEY]]]
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

# ---- what is verified ----
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else unshare -r "$@"; fi; } # files of an image belong to root
verify() { as_root "$folder/bin/rtexec-verify" --remove-below opt/rtexec/set "$@"; }
unpack() { rm -rf root; mkdir root; as_root bsdtar -C root -xpf "$1"; } # ARCHIVE
changed() { # CODE PATTERN COMMAND: what is found once COMMAND, a line of shell, has changed the files below root
  rm -rf changed; as_root cp -a root changed
  (cd changed && as_root bash -c "$3") || bad=1
  expect "$1" "$2" verify --key image.pub changed
}
expect 0 '' image "my set" "an image"
unpack "an image/initramfs"
sum=$(sed -n 's/.*rtexec.manifest=//p' "an image/command-line")
expect 0 '' verify --sha256 "$sum" root
echo '#' >> root/manifest.mtree
expect 5 'manifest.mtree was changed' verify --sha256 "$sum" root

expect 2 'KEY=none is no Ed25519 private key; one is made by: openssl genpkey' image "my set" signed "" "" none
openssl genpkey -algorithm rsa -out rsa.key 2>/dev/null
expect 2 'KEY=.*rsa.key is no Ed25519' image "my set" signed "" "" "$work/rsa.key"
for name in image other; do openssl genpkey -algorithm ed25519 -out $name.key; done
expect 0 'system.tar, signed' image "my set" signed "" "" "$work/image.key"
cp -r signed before-signed
expect 0 '' image "my set" signed "" "" "$work/image.key"
diff -r signed before-signed || bad=1 # Ed25519 gives the same signature each time
unpack signed/initramfs
[ ! -e root/opt ] || { echo "the initramfs of a signed image has the programs, too"; bad=1; }
expect 0 '' verify --sha256 "$(sed -n 's/.*rtexec.manifest=//p' signed/command-line)" root
cp root/etc/rtexec/manifest.key image.pub
[ "$(head -c 14 signed/system.tar)" = ./manifest.sig ] || { echo "the disk of the system cannot be known by its first bytes"; bad=1; }
unpack signed/system.tar
expect 0 '' verify --key image.pub root
changed 5 '^rtexec-image: manifest.sig cannot be read: .*the image is not signed' 'rm manifest.sig'
changed 5 '^rtexec-image: manifest.sig is no signature of manifest.mtree' 'printf x | dd of=manifest.sig conv=notrunc status=none'
changed 5 '^rtexec-image: manifest.sig is no signature of manifest.mtree' 'sed -i "/hostname/d" manifest.mtree'
changed 5 '^rtexec-image: manifest.mtree cannot be read' 'rm manifest.mtree'
changed 5 '^rtexec-image: /etc/rtexec/start has other contents' 'sed -i s/verified/Verified/ etc/rtexec/start'
changed 5 '^rtexec-image: /usr/sbin/rtexec-verify has 100 bytes, expected [0-9]' 'truncate -s 100 usr/sbin/rtexec-verify'
changed 5 '^rtexec-image: /usr/lib/more.so is not in the manifest' 'touch usr/lib/more.so'
changed 5 '^rtexec-image: /etc/hostname is missing' 'rm etc/hostname'
changed 5 '^rtexec-image: /init is a link to /bin/sh, expected usr/sbin/rtexec-verify' 'ln -sf /bin/sh init'
changed 5 '^rtexec-image: /etc/rtexec/start has mode 4755, expected 0755' 'chmod u+s etc/rtexec/start'
changed 5 '^rtexec-image: /a.\[2Jb is not in the manifest' 'touch $'"'a\\e[2Jb'"
changed 3 '^rtexec-image: /opt/rtexec/set/models/a b.onnx has 3 bytes' 'truncate -s 3 "opt/rtexec/set/models/a b.onnx"'
[ ! -e "changed/opt/rtexec/set/models/a b.onnx" ] || { echo "what differs is still there"; bad=1; }
changed 3 '^rtexec-image: /opt/rtexec/set/more.so is not in the manifest' 'touch opt/rtexec/set/more.so'
changed 5 '^rtexec-image: /opt/rtexec/set/more.so is not in the manifest' 'touch opt/rtexec/set/more.so opt/rtexec/more.so'
expect 0 '' image "my set" signed "" "" "$work/other.key"
unpack signed/system.tar
expect 5 '^rtexec-image: manifest.sig is no signature .* another key signed it' verify --key image.pub root
expect 2 'rtexec-verify \[OPTIONS\] ROOT' verify
expect 0 'Exit codes:' "$folder/bin/rtexec-verify" --help

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

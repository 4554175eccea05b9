#!/usr/bin/env bash
# Makes what a guest boots from Debian's own packages: guest.sh FOLDER writes FOLDER/vmlinuz and FOLDER/initramfs.gz.
# The kernel is that of linux-image-amd64 (rdma_rxe is a module of it); it is fetched and unpacked, not installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
mkdir -p "$folder"
cd "$folder"
[ -s initramfs.gz ] && [ -s vmlinuz ] && [ initramfs.gz -nt "$here/guest.sh" ] && [ initramfs.gz -nt "$here/init" ] && exit 0

image=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-/ { print $2; exit }')
[ -n "$image" ] || { echo "guest.sh: apt knows no linux-image-amd64; run apt-get update" >&2; exit 1; }
ls "$image"_*.deb >/dev/null 2>&1 || apt-get download "$image"
rm -rf kernel root
dpkg-deb -x "$image"_*.deb kernel
version=$(basename kernel/lib/modules/*)
cp "kernel/boot/vmlinuz-$version" vmlinuz

mkdir -p root/{bin,dev,proc,sys,run,etc,tmp,lib,lib64,usr/bin}
cp "$(command -v busybox)" root/bin/busybox
for name in sh mount ip modprobe insmod poweroff cat echo sleep ls grep; do ln -sf busybox "root/bin/$name"; done

# A program or library with all that it is linked to, at the same places.
take() {
  cp -L --parents "$1" root
  ldd "$1" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' | while read -r library; do cp -L --parents "$library" root; done
}
libraries=/usr/lib/$(gcc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)
for program in ib_send_bw ib_write_bw rdma; do take "$(command -v "$program")"; done
take "$(ls "$libraries"/libibverbs/librxe-rdmav*.so | head -1)"
mkdir -p root/etc/libibverbs.d
cp /etc/libibverbs.d/rxe.driver root/etc/libibverbs.d/

# Modules with what they depend on.
depmod -b kernel "$version"
modules() {
  for name in virtio_pci virtio_net rdma_rxe ib_uverbs rdma_ucm crc32_generic crc32_pclmul; do
    /sbin/modprobe -d "$PWD/kernel" -S "$version" --show-depends "$name" 2>/dev/null | awk '$1 == "insmod" { print $2 }'
  done | awk '!seen[$0]++'
}
while read -r file; do
  target=root/${file#"$PWD"/kernel/}
  mkdir -p "$(dirname "$target")"
  cp "$file" "$target"
done < <(modules)
cp kernel/lib/modules/"$version"/modules.{order,builtin,builtin.modinfo} root/lib/modules/"$version"/ 2>/dev/null || true
depmod -b root "$version"
cp "$here/init" root/init
chmod +x root/init
(cd root && find . -print0 | cpio --null -o -H newc --quiet) | gzip -1 > initramfs.gz.new
mv initramfs.gz.new initramfs.gz
rm -rf kernel root

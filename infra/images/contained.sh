#!/bin/sh
# Runs a program on the files of an image as a container would: its own mounts and processes, a read-only root, a writable folder
# for /var/lib/lehr and an empty /tmp, an unprivileged user without capabilities who can gain none, and only the variables that
# are given. Called by unshare --mount --pid --fork.
#   contained.sh <root> <folder for /var/lib/lehr> <user:group> <working folder> NAME=value... program...
set -eu
root=$1
home=$2
user=${3%:*}
group=${3#*:}
workdir=$4
shift 4
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom; do
  touch "$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --bind "$home" "$root/var/lib/lehr"
mount -o remount,bind,ro "$root"
exec chroot "$root" setpriv --reuid "$user" --regid "$group" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all \
  env -i -C "$workdir" "$@"

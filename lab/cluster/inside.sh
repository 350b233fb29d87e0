#!/bin/sh
# inside.sh FOLDER COMMAND...: run by unshare with namespaces of its own for processes, mounts and network, so that nothing that a
# kubelet makes is seen outside, and all of it ends with this process.
set -eu
folder=$1
shift
mount --make-rshared /
for place in /run /var/log /var/lib/cni; do
  mkdir -p "$place"
  mount -t tmpfs none "$place"
done
mkdir -p /var/lib/kubelet "$folder/kubelet" /run/lock
mount --bind "$folder/kubelet" /var/lib/kubelet
ip link set lo up
# Addresses of Services are routed to this link, and the rules of kube-proxy then change them.
ip link add node type veth peer name node-peer
ip addr add "$NODE_ADDRESS/24" dev node
for link in node node-peer; do ip link set "$link" up; done
ip route add default dev node
sysctl -qw net.ipv4.ip_forward=1
echo "nameserver $NODE_ADDRESS" > "$folder/resolv.conf"
mount --bind "$folder/resolv.conf" /etc/resolv.conf
exec "$@"

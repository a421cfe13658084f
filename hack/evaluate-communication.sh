#!/usr/bin/env bash
# Makes a rate-limited link between two network namespaces and runs
# hack/evaluate-communication over it, as root:
#
#   hack/evaluate-communication.sh --output docs/results/models/communication
#   MEGABYTES=100 hack/evaluate-communication.sh   # a link of 100 MB/s
source "$(dirname "$0")/lib.sh"

need ip iproute2
near=bandmate-near-$$ far=bandmate-far-$$ rate=${MEGABYTES:-500}
cleanup() {
  ip netns delete "$near"
  ip netns delete "$far"
}
go build -o "$scratch/evaluate-communication" ./hack/evaluate-communication
ip netns add "$near"
ip netns add "$far"
ip -n "$near" link set lo up
ip link add near netns "$near" type veth peer name far netns "$far"
ip -n "$near" address add 10.77.0.1/24 dev near
ip -n "$far" address add 10.77.0.2/24 dev far
ip -n "$near" link set near up
ip -n "$far" link set far up
tc -n "$near" qdisc add dev near root tbf rate "${rate}mbps" burst 256kb latency 50ms # mbps: megabytes
nsenter --net="/run/netns/$near" "$scratch/evaluate-communication" --far "/run/netns/$far" --rate "${rate}MB/s" "$@"

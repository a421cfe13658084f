#!/usr/bin/env bash
# A real Kubernetes node on this machine: kubelet, containerd and runc, with a control
# plane of its own, without systemd, a registry and kube-proxy. As root.
#
#   hack/kubelet.sh up DIR [NODES]   starts it in DIR, which must not exist and whose path
#                                    must be short, with so many simulated nodes beside
#                                    it (none); prints export KUBECONFIG=...
#                                    BANDMATE_CPU_MANAGER=static gives whole CPUs to
#                                    guaranteed pods
#   hack/kubelet.sh down DIR         ends it, takes back what it and the kubelet changed,
#                                    also after a crash, and removes DIR
#   hack/kubelet.sh image NAME PROGRAM   writes an image of one static program, an archive,
#                                    on standard output
#   hack/kubelet.sh load DIR ARCHIVE [NAME]   gives an image to the node; NAME is for an
#                                    OCI layout, whose images have none
#   hack/kubelet.sh missing          says what this machine lacks for it; fails if
#                                    anything
#   hack/kubelet.sh build            only builds, and prints where
#
# The node is called node-real. Only this machine and its pods reach it. Nothing is
# installed: Debian's containerd, runc and CNI plugins are unpacked in the folder of
# the programs, see hack/cluster.sh.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BANDMATE_CLUSTER_BIN:-${XDG_CACHE_HOME:-$HOME/.cache}/bandmate/cluster}
debs=$bin/debs
readonly node=node-real
# The service address is the API server's own, so that pods reach it without kube-proxy.
# The gateway of the pods is the address of the node.
readonly api=10.188.0.1 services=10.188.0.0/24 gateway=10.189.0.1 pods=10.189.0.0/24
readonly local=127.88.0.1 bridge=bandmate0
readonly changed=(vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops
  kernel.keys.root_maxkeys kernel.keys.root_maxbytes net.ipv4.ip_forward)
# Folders that containerd, its plugins and the kubelet make outside of DIR.
readonly made=(/run/containerd /run/netns /var/lib/cni /var/lib/kubelet /var/log/containers /usr/libexec/kubernetes)
export PATH=$debs/usr/bin:$debs/usr/sbin:$bin:$PATH:/usr/sbin:/sbin

fail() {
  echo "hack/kubelet.sh: $*" >&2
  exit 1
}

# usage prints the comment at the top.
usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
}

# missing says what no package would bring.
missing() {
  local what=()
  [[ $(id -u) == 0 ]] || what+=("root")
  [[ $(uname -m) == x86_64 ]] || what+=("an amd64 processor")
  command -v apt-get >/dev/null || what+=("apt-get (Debian or one of its kind)")
  ((${#what[@]})) || {
    unshare --mount --net true 2>/dev/null || what+=("the permission to make namespaces (CAP_SYS_ADMIN)")
    grep -qw overlay /proc/filesystems || modprobe -q overlay 2>/dev/null || what+=("the overlay file system")
    unshare --net sh -c 'ip link add name b type bridge && ip link add v type veth peer name w' 2>/dev/null ||
      ! command -v ip >/dev/null || what+=("bridges and virtual Ethernet in the kernel")
    [[ -w /sys/fs/cgroup || -w /sys/fs/cgroup/cgroup.procs ]] || what+=("control groups that can be written")
    [[ $(findmnt -no OPTIONS /sys/fs/cgroup 2>/dev/null) != ro* ]] || what+=("control groups that can be written")
    ! ss -Hltn 2>/dev/null | grep -qE ':(10250|10248) ' || what+=("the ports of a kubelet: one runs already")
    [[ -z $(find /sys/fs/cgroup -maxdepth 2 -type d -name 'kubepods*' 2>/dev/null | head -n 1) ]] ||
      what+=("control groups without kubepods: a kubelet runs already, or ended without cleaning up")
  }
  ((${#what[@]} == 0)) || { printf '%s\n' "${what[@]}"; return 1; }
}

packages() {
  local need=() name
  for name in ip:iproute2 openssl:openssl gcc:build-essential findmnt:mount sysctl:procps; do
    command -v "${name%%:*}" >/dev/null || need+=("${name##*:}")
  done
  [[ -x $debs/usr/bin/containerd && ${#need[@]} == 0 ]] || apt-get update -q
  ((${#need[@]} == 0)) || DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${need[@]}"
  if [[ ! -x $debs/usr/bin/containerd ]]; then
    local unpacked
    rm -rf "$debs"
    unpacked=$(mktemp -d "$bin/debs.XXXXXX")
    (cd "$unpacked" && chmod 755 . && apt-get -o APT::Sandbox::User=root download containerd runc containernetworking-plugins libseccomp2 &&
      for name in *.deb; do dpkg -x "$name" .; done && rm ./*.deb)
    mv "$unpacked" "$debs"
  fi
}

build() {
  "$root/hack/cluster.sh" build-node >/dev/null
  packages
}

# image NAME PROGRAM
image() {
  local work layer
  work=$(mktemp -d)
  mkdir "$work/rootfs"
  cp "$2" "$work/rootfs/$(basename "$2")"
  tar -C "$work/rootfs" --owner=0 --group=0 --mtime=@0 --sort=name -cf "$work/layer.tar" .
  layer=$(sha256sum <"$work/layer.tar" | cut -d' ' -f1)
  printf '{"architecture":"amd64","os":"linux","config":{"Entrypoint":["/%s"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$(basename "$2")" "$layer" >"$work/config.json"
  printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$1" >"$work/manifest.json"
  tar -C "$work" -cf - manifest.json config.json layer.tar
  rm -rf "$work"
}

containers() { env LD_LIBRARY_PATH="$debs/usr/lib/x86_64-linux-gnu" ctr -a "$dir/cd.sock" -n k8s.io "$@"; }

# load ARCHIVE [NAME]
load() {
  local name
  if [[ -z ${2-} ]]; then
    containers images import "$1" >/dev/null
    return
  fi
  containers images import --base-name "${2%:*}" "$1" >/dev/null
  name=$(containers images ls -q | grep -F "${2%:*}:" | head -n 1)
  [[ $name == "$2" ]] || containers images tag --force "$name" "$2" >/dev/null
}

start() { # NAME PROGRAM ARGS...
  local name=$1
  shift
  setsid "$@" >"$dir/$name.log" 2>&1 </dev/null &
  echo $! >"$dir/$name.pid"
}

await() { # SECONDS WHAT COMMAND...
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || {
      tail -n 20 "$dir/${what%% *}.log" >&2 2>/dev/null || true
      fail "$what is not ready"
    }
    sleep 0.3
  done
}

kubeconfig() { # FILE USER GROUPS
  local token
  token=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')
  echo "$token,$2,$2,\"$3\"" >>"$dir/tokens.csv"
  cat >"$dir/$1.kubeconfig" <<Y
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://$api:443", certificate-authority: "$dir/certs/apiserver.crt"}}]
users: [{name: u, user: {token: "$token"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
Y
}

control_plane() {
  openssl genrsa -out "$dir/sa.key" 2048 2>/dev/null
  # The API server's name to the kubelet, for logs: its certificate is its own authority.
  openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /O=system:masters/CN=apiserver-of-kubelet \
    -keyout "$dir/client.key" -out "$dir/client.crt" 2>/dev/null
  kubeconfig admin admin system:masters
  kubeconfig scheduler system:kube-scheduler ""
  kubeconfig manager system:kube-controller-manager ""
  kubeconfig kubelet "system:node:$node" system:nodes
  start etcd "$bin/etcd" --data-dir "$dir/etcd" --unsafe-no-fsync \
    --listen-client-urls "http://$local:2379" --advertise-client-urls "http://$local:2379" \
    --listen-peer-urls "http://$local:2380" --initial-advertise-peer-urls "http://$local:2380" --initial-cluster "default=http://$local:2380"
  start apiserver "$bin/apiserver" --etcd-servers="http://$local:2379" \
    --bind-address=$api --secure-port=443 --advertise-address=$api --cert-dir="$dir/certs" \
    --service-cluster-ip-range=$services --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$dir/sa.key" --service-account-signing-key-file="$dir/sa.key" \
    --token-auth-file="$dir/tokens.csv" --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --allow-privileged=true --kubelet-preferred-address-types=InternalIP \
    --kubelet-client-certificate="$dir/client.crt" --kubelet-client-key="$dir/client.key"
  export KUBECONFIG=$dir/admin.kubeconfig
  await 120 "apiserver" kubectl get --raw /readyz
  await 60 "apiserver's namespace default" kubectl get namespace default
  start manager "$bin/controllermanager" --kubeconfig="$dir/manager.kubeconfig" --leader-elect=false \
    --service-account-private-key-file="$dir/sa.key" --root-ca-file="$dir/certs/apiserver.crt" \
    --bind-address=$local --secure-port=10257 --cert-dir="$dir/manager-certs" \
    --authentication-kubeconfig="$dir/manager.kubeconfig" --authorization-kubeconfig="$dir/manager.kubeconfig" --use-service-account-credentials
  # The cluster's own scheduler, without the plugin: it places what the chart installs.
  cat >"$dir/scheduler.yaml" <<Y
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: "$dir/scheduler.kubeconfig"}
leaderElection: {leaderElect: false}
profiles: [{schedulerName: default-scheduler}]
Y
  start scheduler "$bin/bandmate-scheduler" --config="$dir/scheduler.yaml" --bind-address=$local --secure-port=10259 --cert-dir="$dir/scheduler-certs" \
    --authentication-kubeconfig="$dir/scheduler.kubeconfig" --authorization-kubeconfig="$dir/scheduler.kubeconfig"
}

runtime() {
  mkdir -p "$dir/cni"
  cat >"$dir/cni/10-bridge.conflist" <<Y
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "$bridge", "isGateway": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$pods", "gateway": "$gateway"}]],
            "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "$dir/ipam"}}
]}
Y
  cat >"$dir/containerd.toml" <<Y
version = 2
root = "$dir/cd/root"
state = "$dir/cd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "$dir/cd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  # Without CAP_SYS_RESOURCE no process may lower its oom_score_adj.
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "$debs/usr/sbin/runc"
        SystemdCgroup = false
        Root = "$dir/runc"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$debs/usr/lib/cni"
    conf_dir = "$dir/cni"
Y
  start containerd env LD_LIBRARY_PATH="$debs/usr/lib/x86_64-linux-gnu" containerd -c "$dir/containerd.toml"
  await 60 "containerd" containers version
  # The program of the pod sandbox, whose image every node has.
  cat >"$dir/pause.c" <<'C'
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void reap(int s) { (void)s; while (waitpid(-1, 0, WNOHANG) > 0) {} }
static void end(int s) { (void)s; _exit(0); }
int main(void) { signal(SIGCHLD, reap); signal(SIGTERM, end); signal(SIGINT, end); for (;;) pause(); }
C
  gcc -Os -static -s -o "$dir/pause" "$dir/pause.c"
  image localhost/pause:1 "$dir/pause" >"$dir/pause.tar"
  load "$dir/pause.tar"
}

kubelet() {
  local cpu_manager=${BANDMATE_CPU_MANAGER:-none} reserved=
  # The static one refuses to give everything away: the node keeps a CPU.
  [[ $cpu_manager == none ]] || reserved='kubeReserved: {cpu: 100m}'
  mkdir "$dir/static-pods"
  cat >"$dir/kubelet.yaml" <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $gateway
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "$dir/client.crt"}}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix://$dir/cd.sock
cgroupDriver: cgroupfs
cgroupsPerQOS: true
# Control groups of version 1 are refused by default since 1.35.
failCgroupV1: false
failSwapOn: false
# Without CAP_SYS_RESOURCE it cannot be lowered.
oomScoreAdj: 0
podLogsDir: $dir/pod-logs
volumePluginDir: $dir/volume-plugins
staticPodPath: $dir/static-pods
clusterDomain: cluster.local
resolvConf: ""
cpuManagerPolicy: $cpu_manager
$reserved
# An image that is collected cannot be pulled again.
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
fileCheckFrequency: 1s
httpCheckFrequency: 0s
nodeStatusUpdateFrequency: 5s
registerNode: true
rotateCertificates: false
serverTLSBootstrap: false
Y
  start kubelet env LD_LIBRARY_PATH="$debs/usr/lib/x86_64-linux-gnu" "$bin/kubelet" --config="$dir/kubelet.yaml" --kubeconfig="$dir/kubelet.kubeconfig" \
    --root-dir="$dir/kl" --cert-dir="$dir/kubelet-certs" --hostname-override=$node --node-ip=$gateway --v=2
  await 120 "kubelet" sh -c "kubectl get node $node -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}' | grep -q True"
  # Without it no pod is admitted.
  await 120 "controller manager" kubectl get serviceaccount default
}

simulated() { # NODES
  (($1 > 0)) || return 0
  local stages=() file i
  for file in "$bin"/stages/*.yaml; do stages+=("--config=$file"); done
  start kwok "$bin/kwok" --kubeconfig="$KUBECONFIG" --manage-all-nodes=false --manage-nodes-with-label-selector=type=kwok \
    --server-address=$local:10247 --node-lease-duration-seconds=40 "${stages[@]}"
  for ((i = 0; i < $1; i++)); do
    kubectl create -f - >&2 <<Y
{apiVersion: v1, kind: Node, metadata: {name: node-$i, labels: {type: kwok, kubernetes.io/hostname: node-$i}},
 status: {capacity: {cpu: "32", pods: "110", memory: 256Gi}, allocatable: {cpu: "32", pods: "110", memory: 256Gi}}}
Y
  done
}

up() { # NODES
  local lacking folder
  lacking=$(missing) || fail "this machine lacks: $lacking"
  build >&2
  mkdir "$dir" || fail "give a folder that does not exist yet"
  ((${#dir} < 40)) || fail "the path $dir is too long for the sockets in it: give one below 40 characters"
  chmod 755 "$dir"
  trap 'status=$?; ((status == 0)) || { mkdir -p "$dir.logs"; cp "$dir"/*.log "$dir.logs/" 2>/dev/null; echo "logs are in $dir.logs" >&2; down; }; exit $status' EXIT
  # For down: what the kubelet and the bridge plugin change.
  sysctl "${changed[@]}" 2>/dev/null >"$dir/sysctl.before"
  for folder in "${made[@]}"; do [[ -e $folder ]] || echo "$folder"; done >"$dir/absent.before"
  ls /run/netns 2>/dev/null >"$dir/netns.before" || true
  ip link add name $bridge type bridge
  ip addr add $gateway/24 dev $bridge
  ip addr add $api/32 dev $bridge
  ip link set $bridge up
  control_plane
  runtime
  kubelet
  simulated "$1"
  echo "export KUBECONFIG=$KUBECONFIG"
}

# end NAME ends a process that start started; a number that another process has got
# meanwhile is not killed.
end() {
  local pid i
  pid=$(cat "$dir/$1.pid" 2>/dev/null) || return 0
  ours "$pid" || return 0
  kill "$pid" 2>/dev/null
  for ((i = 0; i < 100; i++)); do
    ours "$pid" || return 0
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null
}

# ours reports whether a process is of this folder.
ours() {
  local line
  line=$(cat "/proc/$1/cmdline" 2>/dev/null | tr '\0' ' ') || return 1
  [[ $line == *"$dir/"* || $line == "$bin/"* ]]
}

down() {
  set +e
  local pid m netns pass
  end kubelet
  end kwok
  # Containers live on without the kubelet and without containerd, and end with their
  # control groups and shims. Only one kubelet runs on a machine: see missing.
  end containerd
  for pass in 1 2 3; do
    find /sys/fs/cgroup -path '*/kubepods*' -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u | xargs -r kill -9 2>/dev/null
    for pid in $(pgrep -f "containerd-shim-runc-v2 .*-address $dir/cd.sock"); do kill -9 "$pid" 2>/dev/null; done
    sleep 0.5
  done
  for m in scheduler manager apiserver etcd; do end $m; done
  awk -v d="$dir/" 'index($2, d) == 1 {print $2}' /proc/self/mounts | sort -r | while read -r m; do umount -l "$m"; done
  for netns in /run/netns/cni-*; do
    [[ -e $netns ]] && ! grep -qxF "${netns##*/}" "$dir/netns.before" && umount -l "$netns" && rm -f "$netns"
  done
  for m in $(ip -o link show master $bridge 2>/dev/null | sed 's/^[0-9]*: \([^@:]*\).*/\1/'); do ip link delete "$m" 2>/dev/null; done
  ip link delete $bridge 2>/dev/null
  [[ ! -s $dir/sysctl.before ]] || sed 's/ = /=/' "$dir/sysctl.before" | xargs -r sysctl -q -w
  # Deepest first; each hierarchy of cgroup v1 has its own.
  for pass in 1 2 3; do
    find /sys/fs/cgroup -depth -type d \( -path '*/kubepods*' -o -path '*/k8s.io*' \) -exec rmdir {} + 2>/dev/null
    sleep 0.2
  done
  find /var/log/containers -lname "$dir/*" -delete 2>/dev/null
  for m in "${made[@]}"; do
    ! grep -qxF "$m" "$dir/absent.before" || rm -rf --one-file-system "$m"
  done
  rm -rf "$dir"
  set -e
}

command=${1-}
case $command in
  up | down | load)
    [[ -n ${2-} ]] || usage
    dir=$(realpath -m "$2")
    ;;
esac
case $command in
  build) build >&2 && echo "$bin" ;;
  missing) missing ;;
  up) up "${3:-0}" ;;
  down)
    [[ -d $dir ]] || fail "$dir does not exist"
    down
    ;;
  image) image "${2:?NAME}" "${3:?PROGRAM}" ;;
  load) load "${3:?ARCHIVE}" "${4-}" ;;
  *) usage ;;
esac

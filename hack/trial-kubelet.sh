#!/usr/bin/env bash
# Bandmate on a real kubelet: images, chart and kustomization installed as the guide
# says, under the restricted pod security standard; an application onboarded by a Job in
# a container; pods placed by the scheduler's pod, and held back by a limit; two
# schedulers, one of which is killed; nothing left behind. See hack/kubelet.sh.
source "$(dirname "$0")/lib.sh"
dir=$scratch/k
readonly namespace=bandmate-system node=node-real

cleanup() {
  [[ ! -d $dir ]] || hack/kubelet.sh down "$dir"
  rm -rf "$dir.logs"
}

if lacking=$(hack/kubelet.sh missing); then :; else
  # What a kubelet needs is not promised of every machine that builds Bandmate.
  echo "skip  a real kubelet: this machine lacks $(paste -sd, <<<"$lacking" | sed 's/,/, /g')"
  exit 0
fi

details() {
  kubectl get nodes,pods,jobs -A -o wide 2>&1 | cut -c1-180
  kubectl get events -A --sort-by=.lastTimestamp 2>&1 | tail -n 15 | cut -c1-250
  kubectl logs -n "$namespace" -l app.kubernetes.io/component=scheduler --tail=5 2>&1 | cut -c1-300
}

# traces lists what a node leaves on a machine.
traces() {
  sysctl vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops net.ipv4.ip_forward
  ip -o link | awk '{print $2}' | grep -E '^(veth|bandmate)' || true
  ls /run/netns 2>/dev/null || true
  ls -d /run/containerd /var/lib/cni /var/lib/kubelet /var/log/containers 2>/dev/null || true
  find /sys/fs/cgroup -type d \( -name 'kubepods*' -o -name 'k8s.io*' \) 2>/dev/null || true
  grep -F "$dir/" /proc/self/mounts || true
  pgrep -af "$dir/" | grep -v "hack/" || true
}

# soon is check with two minutes of patience: the machine may be busy.
soon() {
  local name=$1
  shift
  check "$name" wait_until 120 "$@"
}

rolled_out() { kubectl -n "$namespace" rollout status --timeout=180s "$@"; }
phase() { [[ $(kubectl get pod "$1" -o jsonpath='{.status.phase}') == "$2" ]]; }
event() { kubectl get events -o json --field-selector "involvedObject.name=$1,reason=$2" | grep -oE '"(note|message)": ".*"' | grep -E "$3"; }
# label_is VALUE reads the machine that the agent labeled the node with.
label_is() { [[ $(kubectl get node "$node" -o jsonpath='{.metadata.labels.bandmate\.dev/machine}') == "$1" ]]; }
gone() { [[ -z $(kubectl get "$@" -o name 2>/dev/null) ]]; }

# pod NAME APPLICATION CPUS [LIMIT] creates one that computes until it is deleted.
pod() {
  local limit=
  [[ -z ${4-} ]] || limit="bandmate.dev/max-slowdown: '$4'"
  kubectl apply -f - >/dev/null <<Y
apiVersion: v1
kind: Pod
metadata:
  name: $1
  labels: {bandmate.dev/application: $2}
  annotations: {$limit}
spec:
  schedulerName: bandmate-scheduler
  terminationGracePeriodSeconds: 0
  containers:
    - name: app
      image: localhost/stream:1
      imagePullPolicy: Never
      command: [/stream, "1000000"]
      resources: {requests: {cpu: $3, memory: 64Mi}}
Y
}

traces >"$scratch/before"
hack/kubelet.sh up "$dir" >"$scratch/up.txt"
eval "$(cat "$scratch/up.txt")"
bin=$(hack/kubelet.sh build 2>/dev/null)
export PATH=$bin:$PATH

# Images as the guide builds them, given to the node in place of a registry.
(cd hack/image && go run . -o "$scratch/images" -arch amd64 -tag v0.1.0) >"$scratch/images.txt"
for name in bandmate bandmate-scheduler; do
  tar -C "$scratch/images/$name" -cf "$scratch/$name.tar" .
  hack/kubelet.sh load "$dir" "$scratch/$name.tar" "docker.io/library/$name:v0.1.0"
done
cat >"$scratch/stream.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
/* A sum over 64 MiB, so many times. */
int main(int argc, char **argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 40, n = 8 << 20;
  double *a = malloc(n * sizeof *a), sum = 0;
  for (long i = 0; i < n; i++) a[i] = i;
  for (long r = 0; r < rounds; r++)
    for (long i = 0; i < n; i++) sum += a[i] * r;
  printf("%g\n", sum);
  return 0;
}
C
gcc -O2 -static -o "$scratch/stream" "$scratch/stream.c"
hack/kubelet.sh image localhost/stream:1 "$scratch/stream" >"$scratch/stream.tar"
hack/kubelet.sh load "$dir" "$scratch/stream.tar"
go build -o "$scratch/bandmate" ./cmd/bandmate
(cd manifests/test && go build -o "$scratch/helm" helm.sh/helm/v4/cmd/helm)
helm() { "$scratch/helm" "$@"; }

kubectl create namespace "$namespace" >/dev/null
kubectl label namespace "$namespace" pod-security.kubernetes.io/enforce=restricted >/dev/null

# The kustomization first, with nothing of it left.
check "the kustomization is applied" kubectl apply --server-side -k manifests/overlays/agent
check "its scheduler runs" rolled_out deployment/bandmate-scheduler
check "its agent runs" rolled_out daemonset/bandmate-agent
check "the kustomization is deleted" kubectl delete -k manifests/overlays/agent --timeout=90s
kubectl create namespace "$namespace" >/dev/null 2>&1 || true
kubectl label namespace "$namespace" --overwrite pod-security.kubernetes.io/enforce=restricted >/dev/null

# On two CPUs there is room for the Job only beside an agent that asks for none.
check "the chart is installed" helm install bandmate manifests/chart -n "$namespace" --set agent.resources.requests.cpu=0
check "the scheduler runs" rolled_out deployment/bandmate-scheduler
check "the agent runs" rolled_out daemonset/bandmate-agent
check "helm test" helm test bandmate -n "$namespace" --timeout 2m

# An application is onboarded on the node, as the first lines of its Job say.
cat >"$scratch/pod.yaml" <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: stream}
spec:
  containers:
    - {name: app, image: "localhost/stream:1", imagePullPolicy: Never, command: [/stream, "60"], resources: {limits: {cpu: "2", memory: 3Gi}}}
Y
"$scratch/bandmate" onboard stream --kubernetes "$scratch/pod.yaml" --node "$node" --adaptive >"$scratch/job.yaml"
kubectl drain "$node" --ignore-daemonsets --delete-emptydir-data --force --timeout=90s >/dev/null 2>&1
kubectl create serviceaccount bandmate-onboard >/dev/null
kubectl create clusterrolebinding bandmate-onboard --clusterrole bandmate-profile-editor --serviceaccount default:bandmate-onboard >/dev/null
check "the Job is applied" kubectl apply -f "$scratch/job.yaml"
check "the Job ends" kubectl wait --for=jsonpath='{.status.conditions}' --timeout=6m job/onboard-stream-node-real
check "the Job succeeds" sh -c 'kubectl logs job/onboard-stream-node-real --all-containers | tail -n 20; kubectl wait --for=condition=complete --timeout=5s job/onboard-stream-node-real'
check "the profile is in the cluster" kubectl get applicationprofile stream
check "the machine has the name of the node" kubectl get machineprofile "$node"
kubectl uncordon "$node" >/dev/null
check "the scheduler is back" rolled_out deployment/bandmate-scheduler
check "the agent recognizes the machine" wait_until 150 label_is "$node"

# The profile is used for the next placement.
pod first stream 100m
soon "a pod runs where the scheduler's pod put it" phase first Running
soon "with a prediction from the measured profile" event first SlowdownPredicted 'predicted 1\.[0-9]+× for this pod'
kubectl delete pod first --now >/dev/null

# A limit keeps an aggressor pending. These profiles are made up, so that the numbers
# do not depend on the machine.
sed "s/rack7/$node/; s/, cpuModel: Test}/}/" manifests/test/testdata/profiles.yaml |
  awk 'BEGIN {RS = "---\n"; ORS = "---\n"} /kind: ApplicationProfile/' >"$scratch/profiles.yaml"
check "profiles are applied" "$scratch/bandmate" apply "$scratch/profiles.yaml"
pod quiet sensitive 100m 1.1
soon "a sensitive pod runs" phase quiet Running
pod loud heavy 100m
soon "its limit keeps an aggressor pending" event loud LimitKeepsPending 'for default/quiet, whose limit is 1\.10×'
check "which does not run" phase loud Pending
kubectl delete pod quiet --now >/dev/null
soon "it runs when the sensitive pod is gone" phase loud Running
kubectl delete pod loud --now >/dev/null

# Two schedulers, one of which is killed.
check "an upgrade to two schedulers" helm upgrade bandmate manifests/chart -n "$namespace" --reuse-values --set scheduler.replicas=2
check "both run" rolled_out deployment/bandmate-scheduler
leader=$(kubectl get lease bandmate-scheduler -n "$namespace" -o jsonpath='{.spec.holderIdentity}')
kubectl delete pod -n "$namespace" "${leader%%_*}" --grace-period=0 --force >/dev/null 2>&1
pod second stream 100m
soon "the other one goes on" phase second Running
kubectl delete pod second --now >/dev/null

# Nothing is left but the definitions, and the machine is as it was.
check "the chart is uninstalled" helm uninstall bandmate -n "$namespace" --wait --timeout 2m
soon "no object is left" gone all,configmaps,serviceaccounts,leases,networkpolicies -n "$namespace" -l app.kubernetes.io/name=bandmate
check "the profiles stay" kubectl get applicationprofile stream
check "the node is ended" hack/kubelet.sh down "$dir"
traces >"$scratch/after"
check "the machine is as it was" diff "$scratch/before" "$scratch/after"

# The same after a crash.
hack/kubelet.sh up "$dir" >"$scratch/up.txt"
eval "$(cat "$scratch/up.txt")"
hack/kubelet.sh load "$dir" "$scratch/stream.tar"
kubectl run survivor --image=localhost/stream:1 --image-pull-policy=Never --command -- /stream 1000000 >/dev/null
soon "a pod runs on a second node" phase survivor Running
for name in kubelet containerd apiserver etcd; do kill -9 "$(cat "$dir/$name.pid")"; done
check "the node is ended after a crash" hack/kubelet.sh down "$dir"
traces >"$scratch/after"
check "the machine is as it was after a crash" diff "$scratch/before" "$scratch/after"

summary

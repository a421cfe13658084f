#!/usr/bin/env bash
# Bandmate on a real kubelet: images, chart and kustomizations installed as the guide
# says, under the restricted pod security standard; applications onboarded by Jobs in
# containers; pods placed by the scheduler's pod, held back by limits, and slowed down by
# each other; two schedulers, one of which is killed; CAP_PERFMON and nothing else;
# exclusive CPUs; nothing left behind, also after a crash. See hack/kubelet.sh.
#
# Needs root on an amd64 Debian machine with two CPUs and 8 GiB of memory; elsewhere it says what lacks.
source "$(dirname "$0")/lib.sh"
dir=$scratch/k
readonly namespace=bandmate-system node=node-real
# What nobody has done by then never happens: on a busy machine everything takes longer.
readonly patience=180

cleanup() {
  [[ ! -d $dir ]] || hack/kubelet.sh down "$dir"
  rm -rf "$dir.logs"
}

if lacking=$(hack/kubelet.sh missing); then :; else
  skip "a real kubelet" "this machine lacks $(paste -sd, <<<"$lacking" | sed 's/,/, /g')"
  exit $((failed > 0))
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

# took prints how long a part took.
took() {
  echo "      $1: $((SECONDS - part)) s"
  part=$SECONDS
}

soon() {
  local name=$1
  shift
  check "$name" wait_until "$patience" "$@"
}

rolled_out() { kubectl -n "$namespace" rollout status --timeout=${patience}s "$@"; }
phase() { [[ $(kubectl get pod "$1" -o jsonpath='{.status.phase}') == "$2" ]]; }
event() { kubectl get events -o json --field-selector "involvedObject.name=$1,reason=$2" | grep -oE '"(note|message)": ".*"' | grep -E "$3"; }
# label_is VALUE reads the machine that the agent labeled the node with.
label_is() { [[ $(kubectl get node "$node" -o jsonpath='{.metadata.labels.bandmate\.dev/machine}') == "$1" ]]; }
gone() { [[ -z $(kubectl get "$@" -o name 2>/dev/null) ]]; }
holder() { kubectl get lease bandmate-scheduler -n "$namespace" -o jsonpath='{.spec.holderIdentity}'; }
held_by_another() { local now; now=$(holder) && [[ -n $now && $now != "$1" ]]; }
# pods_are COMPONENT NUMBER
pods_are() { [[ $(kubectl get pods -n "$namespace" -l "app.kubernetes.io/component=$1" -o name | wc -l) == "$2" ]]; }

# pod NAME APPLICATION CPUS LIMIT COMMAND... creates one of Bandmate's scheduler; LIMIT may
# be empty. The program counts its progress in a page of $scratch/progress.
pod() {
  local name=$1 application=$2 cpus=$3 limit= image=docker.io/library/bandmate:v0.1.0
  [[ -z $4 ]] || limit="bandmate.dev/max-slowdown: '$4'"
  shift 4
  [[ $1 != /stream ]] || image=localhost/stream:1
  head -c 4096 /dev/zero >"$scratch/progress/$name"
  chmod 666 "$scratch/progress/$name"
  kubectl apply -f - >/dev/null <<Y
apiVersion: v1
kind: Pod
metadata:
  name: $name
  labels: {bandmate.dev/application: $application}
  annotations: {$limit}
spec:
  schedulerName: bandmate-scheduler
  terminationGracePeriodSeconds: 0
  containers:
    - name: app
      image: $image
      imagePullPolicy: Never
      command: [$(printf '"%s", ' "$@")]
      env: [{name: BANDMATE_PROGRESS, value: /progress/$name}]
      resources: {requests: {cpu: $cpus, memory: 64Mi}}
      volumeMounts: [{name: progress, mountPath: /progress}]
  volumes:
    - {name: progress, hostPath: {path: "$scratch/progress", type: Directory}}
Y
}

readonly chase=(/bandmate sample --scale 1000 pointer-chase) stream=(/stream 1000000000)

# process NAME is that of a pod's program: it has mapped the pod's page.
process() { { grep -lF "/progress/$1" /proc/[0-9]*/maps 2>/dev/null || true; } | sed -n '1s/[^0-9]*//gp'; }
ended() { [[ -z $(process "$1") ]]; }
ticks() { od -An -t u8 -N 8 "$scratch/progress/$1" | tr -d ' '; }
computes() { (($(ticks "$1") > 0)); }
# cpu_time PID in microseconds.
cpu_time() { cat "/proc/$1"/task/*/schedstat | awk '{s += $1} END {printf "%d", s / 1000}'; }

# rate NAME SECONDS prints what a pod does, and the microseconds of CPU time that it takes
# for it. Who else wants the CPUs does not change their ratio, who else wants the memory
# does.
rate() {
  local pid before cpu
  pid=$(process "$1")
  [[ -n $pid ]] || { echo "FAIL  the program of pod $1 has ended" >&2; return 1; }
  before=$(ticks "$1") cpu=$(cpu_time "$pid")
  sleep "$2"
  echo $(($(ticks "$1") - before)) $(($(cpu_time "$pid") - cpu))
}

# alternating NAME NEIGHBOR prints rates of a pod while the neighbor is stopped and while
# it runs, in turns, so that a machine that becomes faster or slower does so in both.
alternating() {
  local pid
  pid=$(process "$2")
  for _ in {1..10}; do
    kill -STOP "$pid"
    echo "alone $(rate "$1" 0.5)"
    kill -CONT "$pid"
    echo "beside $(rate "$1" 0.5)"
  done
}

traces >"$scratch/before"
part=$SECONDS
hack/kubelet.sh up "$dir" >"$scratch/up.txt"
eval "$(cat "$scratch/up.txt")"
bin=$(hack/kubelet.sh build 2>/dev/null)
export PATH=$bin:$PATH
took "programs built, node up"

# Images as the guide builds them, given to the node in place of a registry.
(cd hack/image && go run . -o "$scratch/images" -arch amd64 -tag v0.1.0) >"$scratch/images.txt"
for name in bandmate bandmate-scheduler; do
  tar -C "$scratch/images/$name" -cf "$scratch/$name.tar" .
  hack/kubelet.sh load "$dir" "$scratch/$name.tar" "docker.io/library/$name:v0.1.0"
  hack/kubelet.sh load "$dir" "$scratch/$name.tar" "registry.example.com/tools/$name:v0.1.0"
done
mkdir "$scratch/progress"
cat >"$scratch/stream.c" <<'C'
#include "bandmate_progress.h"
#include <stdio.h>
/* A triad over 96 MiB, so many times: an aggressor that is no program of Bandmate. */
int main(int argc, char **argv) {
  long rounds = argc > 1 ? atol(argv[1]) : 40, n = 4 << 20, piece = 1 << 14;
  double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), *z = malloc(n * sizeof *z);
  for (long i = 0; i < n; i++) x[i] = y[i] = z[i] = i;
  for (long r = 0; r < rounds; r++)
    for (long from = 0; from < n; from += piece) {
      for (long i = from; i < from + piece; i++) x[i] = y[i] + 0.5 * z[i];
      bandmate_progress(1);
    }
  printf("%g\n", x[n / 2]);
  return 0;
}
C
gcc -O3 -static -I ticks/progress -o "$scratch/stream" "$scratch/stream.c"
hack/kubelet.sh image localhost/stream:1 "$scratch/stream" >"$scratch/stream.tar"
hack/kubelet.sh load "$dir" "$scratch/stream.tar"
go build -o "$scratch/bandmate" ./cmd/bandmate
(cd manifests/test && go build -o "$scratch/helm" helm.sh/helm/v4/cmd/helm)
helm() { "$scratch/helm" "$@"; }
took "images"

kubectl create namespace "$namespace" >/dev/null
kubectl label namespace "$namespace" pod-security.kubernetes.io/enforce=restricted >/dev/null

# A kustomization of two schedulers first, with images as from a registry; one of the
# schedulers is killed, and nothing is left.
readonly registry=registry.example.com/tools
mkdir "$scratch/own"
cat >"$scratch/own/kustomization.yaml" <<Y
resources: [$(realpath --relative-to="$scratch/own" manifests/overlays/high-availability)]
images:
  - {name: bandmate, newName: $registry/bandmate}
  - {name: bandmate-scheduler, newName: $registry/bandmate-scheduler}
Y
check "the kustomization is applied" kubectl apply --server-side -k "$scratch/own"
check "its schedulers run" rolled_out deployment/bandmate-scheduler
check "they are two" pods_are scheduler 2
check "its agent runs" rolled_out daemonset/bandmate-agent
soon "one of the schedulers leads" held_by_another ""
leader=$(holder)
kubectl delete pod -n "$namespace" "${leader%%_*}" --grace-period=0 --force >/dev/null 2>&1
pod second stream 100m "" "${stream[@]}"
soon "the leader is killed, and another leads" held_by_another "$leader"
soon "which places a pod" phase second Running
kubectl delete pod second --now >/dev/null
from_registry() { [[ $(kubectl get pods -n "$namespace" -o jsonpath='{.items[*].spec.containers[*].image}' | tr ' ' '\n' | sort -u | tr '\n' ' ') == "$registry/bandmate-scheduler:v0.1.0 $registry/bandmate:v0.1.0 " ]]; }
check "their images are those of the registry" from_registry
check "the kustomization is deleted" kubectl delete -k "$scratch/own" --timeout=${patience}s
kubectl create namespace "$namespace" >/dev/null 2>&1 || true
kubectl label namespace "$namespace" --overwrite pod-security.kubernetes.io/enforce=restricted >/dev/null
took "kustomization"

# On two CPUs there is room for the Job only beside an agent that asks for none.
check "the chart is installed" helm install bandmate manifests/chart -n "$namespace" --set agent.resources.requests.cpu=0
check "the scheduler runs" rolled_out deployment/bandmate-scheduler
check "the agent runs" rolled_out daemonset/bandmate-agent
check "helm test" helm test bandmate -n "$namespace" --timeout ${patience}s
took "chart"

# Two applications are onboarded on the node, as the first lines of their Jobs say: one
# of Bandmate's image, and one that knows nothing of Bandmate.
job() { # NAME IMAGE COMMAND...
  local name=$1 image=$2
  shift 2
  cat >"$scratch/$name.yaml" <<Y
apiVersion: v1
kind: Pod
metadata: {name: $name}
spec:
  containers:
    - {name: app, image: "$image", imagePullPolicy: Never, command: [$(printf '"%s", ' "$@")], resources: {limits: {cpu: "2", memory: 6Gi}}}
Y
  "$scratch/bandmate" onboard "$name" --kubernetes "$scratch/$name.yaml" --node "$node" >"$scratch/$name-job.yaml"
}
onboard() { # NAME
  kubectl apply -f "$scratch/$1-job.yaml" >/dev/null
  kubectl wait --for=jsonpath='{.status.conditions}' --timeout=10m "job/onboard-$1-$node"
  kubectl logs "job/onboard-$1-$node" --all-containers | tail -n 20
  kubectl wait --for=condition=complete --timeout=5s "job/onboard-$1-$node"
}
job chase docker.io/library/bandmate:v0.1.0 /bandmate sample --scale 4 pointer-chase
job stream localhost/stream:1 /stream 200
kubectl drain "$node" --ignore-daemonsets --delete-emptydir-data --force --timeout=${patience}s >/dev/null 2>&1
kubectl create serviceaccount bandmate-onboard >/dev/null
kubectl create clusterrolebinding bandmate-onboard --clusterrole bandmate-profile-editor --serviceaccount default:bandmate-onboard >/dev/null
check "the Job onboards a program of Bandmate" onboard chase
check "its profile is in the cluster" kubectl get applicationprofile chase
check "the machine has the name of the node" kubectl get machineprofile "$node"
check "the Job onboards another program" onboard stream
check "its profile is in the cluster" kubectl get applicationprofile stream
kubectl uncordon "$node" >/dev/null
check "the scheduler is back" rolled_out deployment/bandmate-scheduler
soon "the agent recognizes the machine" label_is "$node"
took "onboarding"

# The sensitive one runs alone, beside the aggressor, and alone again.
pod tender chase 500m "" "${chase[@]}"
soon "a pod runs where the scheduler's pod put it" computes tender
soon "with a prediction from the measured profile" event tender SlowdownPredicted 'predicted 1\.[0-9]+× for this pod'
alone=$(rate tender 5)
predicted=$("$scratch/bandmate" what-if stream --node "$node" --cpus 0.5 -o json | grep -oE '"after": *[0-9.]+' | grep -oE '[0-9.]+$' | head -n 1 || true)
pod loud stream 500m "" "${stream[@]}"
soon "an aggressor without limits in its way runs" computes loud
soon "with a prediction for both" event loud SlowdownPredicted 'predicted 1\.[0-9]+× for this pod'
alternating tender loud >"$scratch/turns.txt"
kubectl delete pod loud --now >/dev/null
soon "the aggressor has ended" ended loud
after=$(rate tender 5)
{ echo "before $alone"; cat "$scratch/turns.txt"; echo "after $after"; } | awk -v predicted="$predicted" '
  {ticks[$1] += $2; cpu[$1] += $3}
  function per_second(what) {return cpu[what] ? ticks[what] / cpu[what] * 1e6 : 0}
  END {
    printf "      progress in a second of CPU time: %.0f before the aggressor, %.0f beside it, %.0f after it\n", per_second("before"), per_second("beside"), per_second("after")
    printf "      slowdown: %.3f predicted, %.3f measured in turns\n", predicted, per_second("alone") / per_second("beside") }'

# With a limit halfway to what is predicted, the aggressor stays pending.
limit=$(awk -v p="$predicted" 'BEGIN {printf "%.4f", (1 + p) / 2}')
if awk -v p="$predicted" 'BEGIN {exit !(p >= 1.001)}'; then
  kubectl annotate pod tender "bandmate.dev/max-slowdown=$limit" >/dev/null
  pod loud stream 500m "" "${stream[@]}"
  soon "a limit of $limit keeps the aggressor pending" event loud LimitKeepsPending "for default/tender, whose limit is"
  check "which does not run" phase loud Pending
  kubectl delete pod tender --now >/dev/null
  soon "and runs when the sensitive pod is gone" computes loud
  kubectl delete pod loud --now >/dev/null
else
  echo "      the profiles measured here predict no slowdown that a limit could lie below"
  kubectl delete pod tender --now >/dev/null
fi
took "side by side"

# A limit again with profiles that are made up, so that the numbers do not depend on the
# machine.
sed "s/rack7/$node/; s/, cpuModel: Test}/}/" manifests/test/testdata/profiles.yaml |
  awk 'BEGIN {RS = "---\n"; ORS = "---\n"} /kind: ApplicationProfile/' >"$scratch/profiles.yaml"
check "profiles are applied" "$scratch/bandmate" apply "$scratch/profiles.yaml"
pod quiet sensitive 100m 1.1 "${chase[@]}"
soon "a sensitive pod runs" phase quiet Running
pod loud heavy 100m "" "${stream[@]}"
soon "its limit of 1.1 keeps an aggressor pending" event loud LimitKeepsPending 'for default/quiet, whose limit is 1\.10×'
check "which does not run" phase loud Pending
kubectl delete pod quiet --now >/dev/null
soon "and runs when the sensitive pod is gone" phase loud Running
kubectl delete pod loud --now >/dev/null
took "limit"

# An upgrade, to two schedulers and an agent that may count whole CPUs: with CAP_PERFMON
# and no other capability.
doctor() { kubectl exec -n "$namespace" daemonset/bandmate-agent -- /bandmate doctor | tee /dev/stderr | grep "$1"; }
capabilities() { [[ $(awk '/^CapEff/ {print $2}' "/proc/$(pgrep -f '^/bandmate agent')/status") == "$1" ]]; }
check "the agent has no capability" capabilities 0000000000000000
check "and may not count whole CPUs" doctor 'may not count whole CPUs'
kubectl label namespace "$namespace" pod-security.kubernetes.io/enforce=privileged --overwrite >/dev/null
check "an upgrade to two schedulers and CAP_PERFMON" helm upgrade bandmate manifests/chart -n "$namespace" --reuse-values --set scheduler.replicas=2 --set agent.privileges=perfmon
check "both schedulers run" rolled_out deployment/bandmate-scheduler
check "the agent runs again" rolled_out daemonset/bandmate-agent
soon "it has CAP_PERFMON and nothing else" capabilities 0000004000000000
check "and may count whole CPUs" doctor 'this process may count whole CPUs'
took "upgrade"

# Nothing is left but the definitions, and the machine is as it was.
check "the chart is uninstalled" helm uninstall bandmate -n "$namespace" --wait --timeout ${patience}s
soon "no object is left" gone all,configmaps,serviceaccounts,leases,networkpolicies -n "$namespace" -l app.kubernetes.io/name=bandmate
check "the profiles stay" kubectl get applicationprofile stream
check "the node is ended" hack/kubelet.sh down "$dir"
traces >"$scratch/after"
check "the machine is as it was" diff "$scratch/before" "$scratch/after"
took "removal"

# A second node, whose CPU manager gives whole CPUs away. Of two it keeps one.
BANDMATE_CPU_MANAGER=static hack/kubelet.sh up "$dir" >"$scratch/up.txt"
eval "$(cat "$scratch/up.txt")"
hack/kubelet.sh load "$dir" "$scratch/stream.tar"
hack/kubelet.sh load "$dir" "$scratch/bandmate.tar" docker.io/library/bandmate:v0.1.0
guaranteed() { # NAME IMAGE COMMAND...
  local name=$1 image=$2
  shift 2
  kubectl apply -f - >/dev/null <<Y
apiVersion: v1
kind: Pod
metadata: {name: $name}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers:
    - {name: app, image: "$image", imagePullPolicy: Never, command: [$(printf '"%s", ' "$@")], resources: {limits: {cpu: "1", memory: 256Mi}}}
Y
}
cpus() { awk '/^Cpus_allowed_list/ {print $2}' "/proc/$(pgrep -f "^/stream $1\$")/status"; }
apart() { [[ $(cpus 1111111111) =~ ^[0-9]+$ && $(cpus 1222222222) =~ ^[0-9]+$ && $(cpus 1111111111) != "$(cpus 1222222222)" ]]; }
kubectl run survivor --image=localhost/stream:1 --image-pull-policy=Never --command -- /stream 1222222222 >/dev/null
soon "a pod runs on a node with exclusive CPUs" phase survivor Running
guaranteed exclusive localhost/stream:1 /stream 1111111111
soon "a guaranteed pod has a CPU of its own" apart
told() {
  "$scratch/bandmate" agent --node "$node" --once --source none --publish-machine=false >/dev/null &&
    [[ $(kubectl get node "$node" -o jsonpath='{.metadata.annotations.bandmate\.dev/exclusive-cpus}') == "{\"$(kubectl get pod exclusive -o jsonpath='{.metadata.uid}')\":\"$(cpus 1111111111)\"}" ]]
}
soon "the agent tells whose it is" told
kubectl delete pod exclusive --now >/dev/null
# Onboarding needs two: it says so rather than measure itself.
guaranteed single docker.io/library/bandmate:v0.1.0 /bandmate onboard single --store=/tmp/profiles -- /bandmate sample triad
soon "onboarding ends on a single exclusive CPU" phase single Failed
check "and says why" sh -c "kubectl logs single | tee /dev/stderr | grep 'only one CPU may be used'"
kubectl create serviceaccount bandmate-onboard >/dev/null
check "a Job of more CPUs than are given away is applied" kubectl apply -f "$scratch/stream-job.yaml"
check "it ends" kubectl wait --for=jsonpath='{.status.conditions}' --timeout=${patience}s "job/onboard-stream-$node"
check "and says why" sh -c "kubectl get pods -l job-name=onboard-stream-$node -o jsonpath='{.items[*].status.reason}' | tee /dev/stderr | grep -E 'OutOfcpu|UnexpectedAdmissionError'"
took "exclusive CPUs"

# The plugin in the default scheduler, a static pod as kubeadm writes it, with what the
# guide changes.
hack/kubelet.sh load "$dir" "$scratch/bandmate-scheduler.tar" docker.io/library/bandmate-scheduler:v0.1.0
check "the rights of the default scheduler are applied" kubectl apply --server-side -k manifests/default-scheduler
mkdir "$scratch/kubernetes"
(umask 077 && kubectl config view --raw --flatten --kubeconfig "$dir/scheduler.kubeconfig" >"$scratch/kubernetes/scheduler.conf")
cp manifests/default-scheduler/config.yaml "$scratch/kubernetes/bandmate-scheduler.yaml"
kill "$(cat "$dir/scheduler.pid")"
cat >"$dir/static-pods/kube-scheduler.yaml" <<Y
apiVersion: v1
kind: Pod
metadata: {name: kube-scheduler, namespace: kube-system, labels: {component: kube-scheduler, tier: control-plane}}
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  securityContext: {seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: kube-scheduler
      image: bandmate-scheduler:v0.1.0
      imagePullPolicy: IfNotPresent
      command:
        - /bandmate-scheduler
        - --authentication-kubeconfig=/etc/kubernetes/scheduler.conf
        - --authorization-kubeconfig=/etc/kubernetes/scheduler.conf
        - --bind-address=127.0.0.1
        - --kubeconfig=/etc/kubernetes/scheduler.conf
        - --leader-elect=true
        - --config=/etc/kubernetes/bandmate-scheduler.yaml
      securityContext: {runAsUser: 0, runAsGroup: 0}
      livenessProbe: {httpGet: {host: 127.0.0.1, path: /livez, port: 10259, scheme: HTTPS}, initialDelaySeconds: 10}
      resources: {requests: {cpu: 100m}}
      volumeMounts:
        - {name: kubeconfig, mountPath: /etc/kubernetes/scheduler.conf, readOnly: true}
        - {name: config, mountPath: /etc/kubernetes/bandmate-scheduler.yaml, readOnly: true}
  volumes:
    - {name: kubeconfig, hostPath: {path: "$scratch/kubernetes/scheduler.conf", type: FileOrCreate}}
    - {name: config, hostPath: {path: "$scratch/kubernetes/bandmate-scheduler.yaml", type: File}}
Y
plugged() { kubectl logs -n kube-system "kube-scheduler-$node" | tee /dev/stderr | grep 'Plugin started'; }
soon "the default scheduler runs with the plugin" plugged
kubectl run placed --restart=Never --image=localhost/stream:1 --image-pull-policy=Never --command -- /stream 1 >/dev/null
soon "it places a pod that names no application" phase placed Succeeded
rm "$dir/static-pods/kube-scheduler.yaml"
soon "it is gone with its file" gone pod "kube-scheduler-$node" -n kube-system
took "default scheduler"

# It crashes.
for name in kubelet containerd apiserver etcd; do kill -9 "$(cat "$dir/$name.pid")"; done
check "the node is ended after a crash" hack/kubelet.sh down "$dir"
traces >"$scratch/after"
check "the machine is as it was after a crash" diff "$scratch/before" "$scratch/after"
took "crash"

summary

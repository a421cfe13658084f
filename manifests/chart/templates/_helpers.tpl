{{- define "bandmate.labels" -}}
app.kubernetes.io/name: bandmate
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "bandmate.selector" -}}
app.kubernetes.io/name: bandmate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "bandmate.image" -}}
{{- $i := .root.Values.image -}}
{{- with $i.registry }}{{ . }}/{{ end }}{{ .name }}:{{ $i.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- /* Names of objects that exist once in a cluster, or next to other releases. */ -}}
{{- define "bandmate.scheduler" -}}{{ .Release.Name }}-scheduler{{- end }}
{{- define "bandmate.agent" -}}{{ .Release.Name }}-agent{{- end }}
{{- define "bandmate.clusterName" -}}{{ .Release.Namespace }}-{{ .Release.Name }}{{- end }}

{{- define "bandmate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "bandmate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* In: metrics and probes. Out: the API server, whose address no policy can
name, and DNS. */ -}}
{{- define "bandmate.networkPolicy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .root.Release.Name }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "bandmate.labels" .root | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "bandmate.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    - ports: [{port: {{ .port }}, protocol: TCP}]
  egress:
    - ports:
        {{- range .root.Values.networkPolicy.apiServerPorts }}
        - {port: {{ . }}, protocol: TCP}
        {{- end }}
    - ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
{{- end }}

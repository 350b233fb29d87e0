{{/* Labels by which selectors find the pods of a component. They must never change: selectors are immutable. */}}
{{- define "lehr.labels" -}}
app.kubernetes.io/name: lehr
app.kubernetes.io/component: {{ . }}
{{- end }}

{{/* An image of Lehr. Takes the root, the name of the image, a tag of its own, and a whole reference that replaces it. */}}
{{- define "lehr.image" -}}
{{- .reference | default (printf "%s%s:%s" (.root.Values.registry | default "") .name (.tag | default .root.Values.tag | default .root.Chart.AppVersion)) }}
{{- end }}

{{/* What every pod has. As the Pod Security Standard "restricted" demands; no pod calls the API server of the cluster. */}}
{{- define "lehr.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ quote . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ int64 .user }}
  runAsGroup: {{ int64 .user }}
  fsGroup: {{ int64 .user }}
  # Volumes with many files, such as a cache of models, are not changed file by file at every start.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "lehr.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Variables of a container. Takes the root, its own variables, and those that the chart sets; later ones win. */}}
{{- define "lehr.env" -}}
{{- $s3 := ternary (dict "AWS_ENDPOINT_URL_S3" "http://lehr-s3:8333") dict .root.Values.s3.enabled }}
{{- $all := dict }}
{{- /* No merge: it takes an empty text for a missing one. */}}
{{- range list $s3 .root.Values.env .own .set }}
{{- range $name, $value := . }}
{{- $_ := set $all $name $value }}
{{- end }}
{{- end }}
{{- range $name, $value := $all }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* Variables from a Secret, each by name, so that a missing one stops the pod with a clear event. */}}
{{- define "lehr.secretEnv" -}}
{{- range .keys }}
- name: {{ . }}
  valueFrom:
    secretKeyRef:
      name: {{ quote $.secret }}
      key: {{ . }}
      {{- if $.optional }}
      optional: true
      {{- end }}
{{- end }}
{{- end }}

{{- define "lehr.httpProbe" -}}
httpGet:
  path: {{ .path }}
  port: {{ .port }}
timeoutSeconds: 5
{{- end }}

{{/* Pods with these labels on different zones and nodes, where there are several. */}}
{{- define "lehr.spread" -}}
{{- $labels := . }}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- $labels | nindent 6 }}
{{- end }}
{{- end }}

{{/* At most one pod with these labels may be away because a node is drained. */}}
{{- define "lehr.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  labels:
    {{- .labels | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- .labels | nindent 6 }}
{{- end }}

{{/* Replicas by CPU. Takes the name of the Deployment, the fewest and the most. It needs the metrics-server of the cluster. */}}
{{- define "lehr.hpa" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ .name }}
  labels:
    {{- .labels | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ .name }}
  minReplicas: {{ .min }}
  maxReplicas: {{ .max }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: 70
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 300
{{- end }}

{{/* pools.yaml, which the API reads at its start. */}}
{{- define "lehr.poolsFile" -}}
pools:
{{- range $name, $pool := .Values.pools }}
{{- $served := ternary (dict "models" $pool.models) (dict "tasks" $pool.tasks) (not (empty $pool.models)) }}
  - {{ merge (dict "name" $name "min" $pool.min "max" $pool.max) $served ($pool.scaling | default dict) | toJson }}
{{- end }}
{{- end }}

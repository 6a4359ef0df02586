{{- define "cubeyard.labels" -}}
app.kubernetes.io/name: cubeyard
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "cubeyard.selector" -}}
app.kubernetes.io/name: cubeyard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cubeyard.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end }}

{{- define "cubeyard.databaseSecret" -}}
{{ .Values.database.existingSecret | default (printf "%s-database" .Release.Name) }}
{{- end }}

{{- define "cubeyard.tokenSecret" -}}
{{ .Values.existingTokenSecret | default (printf "%s-token" .Release.Name) }}
{{- end }}

{{- define "cubeyard.keys" -}}
{{ .Values.emulation.existingKeys | default (printf "%s-keys" .Release.Name) }}
{{- end }}

{{/* What every container of ours but the fabric runs as. */}}
{{- define "cubeyard.unprivileged" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "cubeyard.database" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ include "cubeyard.databaseSecret" . }}
      key: url
{{- end }}

{{/* How workers and the API know the nodes. */}}
{{- define "cubeyard.cluster" -}}
{{- if .Values.emulation.enabled }}
- name: CUBEYARD_CLUSTER
  value: /etc/cubeyard/cluster.json
{{- end }}
- name: CUBEYARD_FABRIC_START
  value: "false"
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "cubeyard.clusterJson" -}}
{{ dict "namespace" .Values.emulation.namespace "fabrics" .Release.Namespace "keys" "/keys" "image" (.Values.emulation.image | default (include "cubeyard.image" .)) "program" .Values.emulation.program "port" (int .Values.emulation.port) "underlay" .Values.emulation.underlay "deadline_secs" (int .Values.emulation.deadlineSecs) | toJson }}
{{- end }}

{{/* Pods read their settings once: an upgrade that changes these replaces them. */}}
{{- define "cubeyard.settings" -}}
checksum/settings: {{ printf "%s %s %s %s" (include "cubeyard.clusterJson" .) .Values.database.url .Values.token (toJson .Values.settings) | sha256sum }}
{{- end }}

{{- define "cubeyard.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- if .Values.emulation.enabled }}
- name: cluster
  mountPath: /etc/cubeyard
  readOnly: true
- name: keys
  mountPath: /keys
  readOnly: true
{{- end }}
{{- end }}

{{/* Of the API or the worker (`side`), each with the key of its own: with the API's, relays let nobody change a run. */}}
{{- define "cubeyard.volumes" -}}
- name: tmp
  emptyDir: {}
{{- if .root.Values.emulation.enabled }}
- name: cluster
  configMap:
    name: {{ .root.Release.Name }}-cluster
- name: keys
  secret:
    secretName: {{ include "cubeyard.keys" .root }}
    defaultMode: 0440
    items:
      - { key: ca.crt, path: ca.crt }
      - { key: {{ .side }}.crt, path: tls.crt }
      - { key: {{ .side }}.key, path: tls.key }
{{- end }}
{{- end }}

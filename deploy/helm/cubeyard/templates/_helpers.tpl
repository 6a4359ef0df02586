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
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
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

{{/* For the API, the worker, or the owner of the tables (`side`). */}}
{{- define "cubeyard.database" -}}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ include "cubeyard.databaseSecret" .root }}
      key: {{ if and .root.Values.database.roles (ne .side "owner") }}{{ .side }}-url{{ else }}url{{ end }}
{{- if .root.Values.database.caSecret }}
- name: PGSSLROOTCERT
  value: /etc/cubeyard-database/ca.crt
{{- end }}
{{- end }}

{{- define "cubeyard.databaseMount" -}}
{{- if .Values.database.caSecret }}
- name: database-ca
  mountPath: /etc/cubeyard-database
  readOnly: true
{{- end }}
{{- end }}

{{- define "cubeyard.databaseVolume" -}}
{{- if .Values.database.caSecret }}
- name: database-ca
  secret:
    secretName: {{ .Values.database.caSecret }}
    defaultMode: 0440
    items:
      - { key: ca.crt, path: ca.crt }
{{- end }}
{{- end }}

{{/* The version of a Secret that somebody else makes, so that pods see its changes. */}}
{{- define "cubeyard.secretVersion" -}}
{{- if .name }}{{ dig "metadata" "resourceVersion" "" (lookup "v1" "Secret" .root.Release.Namespace .name) }}{{ end }}
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
{{- $secrets := "" -}}
{{- range list .Values.database.existingSecret .Values.database.caSecret .Values.existingTokenSecret .Values.emulation.existingKeys -}}
{{- $secrets = printf "%s %s" $secrets (include "cubeyard.secretVersion" (dict "root" $ "name" .)) -}}
{{- end -}}
checksum/settings: {{ printf "%s %s %s %s%s" (include "cubeyard.clusterJson" .) .Values.database.url .Values.token (toJson .Values.settings) $secrets | sha256sum }}
{{- end }}

{{- define "cubeyard.mounts" -}}
- name: tmp
  mountPath: /tmp
{{- with include "cubeyard.databaseMount" . }}
{{ . }}
{{- end }}
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
{{- with include "cubeyard.databaseVolume" .root }}
{{ . }}
{{- end }}
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

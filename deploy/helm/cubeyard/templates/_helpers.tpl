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

{{/* Token and keys that the chart makes: those that are there, or drawn once for all templates. A tool
that renders the chart without the cluster sees none, and would draw others each time: it needs
Secrets of somebody else's. */}}
{{- define "cubeyard.mayDraw" -}}
{{- if not (.root.Values.secrets).draw -}}
{{- fail (printf "%s is empty: give the name of a Secret, or, with `helm install` and not with tools that render the chart without the cluster (`helm template`, Argo CD), secrets.draw=true" .field) -}}
{{- end -}}
{{- end }}

{{- define "cubeyard.tokenData" -}}
{{- if not (hasKey .Values "drawnToken") -}}
{{- $kept := lookup "v1" "Secret" .Release.Namespace (include "cubeyard.tokenSecret" .) -}}
{{- if .Values.token -}}
{{- $_ := set .Values "drawnToken" (.Values.token | b64enc) -}}
{{- else if $kept -}}
{{- $_ := set .Values "drawnToken" (index $kept.data "token") -}}
{{- else -}}
{{- include "cubeyard.mayDraw" (dict "root" . "field" "existingTokenSecret") -}}
{{- $_ := set .Values "drawnToken" (randAlphaNum 40 | b64enc) -}}
{{- end -}}
{{- end -}}
token: {{ .Values.drawnToken }}
{{- end }}

{{/* Certificates are of one year; an upgrade draws new ones after three quarters of it. */}}
{{- define "cubeyard.keysData" -}}
{{- if not (hasKey .Values "drawnKeys") -}}
{{- $now := now | unixEpoch | int64 -}}
{{- $kept := lookup "v1" "Secret" .Release.Namespace (include "cubeyard.keys" .) -}}
{{- $at := dig "metadata" "annotations" "cubeyard/drawn-at" "0" $kept | int64 -}}
{{- if and $kept (lt (sub $now $at) 23328000) -}}
{{- $_ := set .Values "drawnKeys" $kept.data -}}
{{- $_ := set .Values "drawnAt" $at -}}
{{- else -}}
{{- if not $kept }}{{ include "cubeyard.mayDraw" (dict "root" . "field" "emulation.existingKeys") }}{{ end -}}
{{- $ca := genCA "cubeyard" 365 -}}
{{- $keys := dict "ca.crt" ($ca.Cert | b64enc) -}}
{{- range $part, $name := dict "relay" "cubeyard-fabric" "worker" "cubeyard-worker" "api" "cubeyard-api" -}}
{{- $made := genSignedCert $name nil (list $name) 365 $ca -}}
{{- $_ := set $keys (printf "%s.crt" $part) ($made.Cert | b64enc) -}}
{{- $_ := set $keys (printf "%s.key" $part) ($made.Key | b64enc) -}}
{{- end -}}
{{- $_ := set .Values "drawnKeys" $keys -}}
{{- $_ := set .Values "drawnAt" $now -}}
{{- end -}}
{{- end -}}
{{- toYaml .Values.drawnKeys -}}
{{- end }}

{{/* Changes with the keys, whoever makes them. */}}
{{- define "cubeyard.keysVersion" -}}
{{- if .Values.emulation.existingKeys -}}
{{- include "cubeyard.secretVersion" (dict "root" . "name" .Values.emulation.existingKeys) -}}
{{- else if .Values.emulation.enabled -}}
{{- include "cubeyard.keysData" . -}}
{{- end -}}
{{- end }}

{{- define "cubeyard.tokenVersion" -}}
{{- if .Values.existingTokenSecret -}}
{{- include "cubeyard.secretVersion" (dict "root" . "name" .Values.existingTokenSecret) -}}
{{- else -}}
{{- include "cubeyard.tokenData" . -}}
{{- end -}}
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
- name: CUBEYARD_SECRETS_DIR
  value: /secrets
- name: CUBEYARD_DATABASE_WAIT_SECS
  value: "300"
{{- if .Values.database.caSecret }}
- name: PGSSLROOTCERT
  value: /etc/cubeyard-database/ca.crt
{{- end }}
{{- end }}

{{- define "cubeyard.databaseMount" -}}
- name: secrets
  mountPath: /secrets
  readOnly: true
{{- if .Values.database.caSecret }}
- name: database-ca
  mountPath: /etc/cubeyard-database
  readOnly: true
{{- end }}
{{- end }}

{{/* Secrets as files, for the API, the worker, or the owner of the tables (`side`): other processes of
a user can read its processes' environment. */}}
{{- define "cubeyard.databaseVolume" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ include "cubeyard.databaseSecret" .root }}
          items:
            - { key: {{ get (ternary (dict "api" "server-url" "worker" "worker-url") dict .root.Values.database.roles) .side | default "url" }}, path: DATABASE_URL }
{{- if eq .side "api" }}
      - secret:
          name: {{ include "cubeyard.tokenSecret" .root }}
          items:
            - { key: token, path: CUBEYARD_TOKEN }
{{- end }}
{{- if .root.Values.database.caSecret }}
- name: database-ca
  secret:
    secretName: {{ .root.Values.database.caSecret }}
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
{{- $secrets := printf "%s %s" (include "cubeyard.tokenVersion" .) (include "cubeyard.keysVersion" .) -}}
{{- range list .Values.database.existingSecret .Values.database.caSecret -}}
{{- $secrets = printf "%s %s" $secrets (include "cubeyard.secretVersion" (dict "root" $ "name" .)) -}}
{{- end -}}
checksum/settings: {{ printf "%s %s %s %s" (include "cubeyard.clusterJson" .) .Values.database.url (toJson .Values.settings) $secrets | sha256sum }}
{{- end }}

{{- define "cubeyard.mounts" -}}
- name: tmp
  mountPath: /tmp
{{ include "cubeyard.databaseMount" . }}
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
{{ include "cubeyard.databaseVolume" . }}
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

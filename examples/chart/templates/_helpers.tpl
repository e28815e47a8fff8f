{{- define "headgate.name" -}}
{{- if contains "headgate" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-headgate" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "headgate.selector" -}}
app.kubernetes.io/name: headgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "headgate.labels" -}}
{{ include "headgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "headgate.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end }}

{{- define "headgate.hasStore" -}}
{{- if (.Values.config.store).url }}yes{{ end -}}
{{- end }}

{{- define "headgate.hasMigration" -}}
{{- if and .Values.migration.enabled (include "headgate.hasStore" .) }}yes{{ end -}}
{{- end }}

{{/* The same of the gateway and of the migration. */}}
{{- define "headgate.environment" -}}
{{- with .Values.secrets }}
envFrom:
  {{- range . }}
  - secretRef: { name: {{ . | quote }} }
  {{- end }}
{{- end }}
{{- with .Values.env }}
env: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "headgate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "headgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "headgate.mounts" -}}
- { name: config, mountPath: /etc/headgate, readOnly: true }
- { name: data, mountPath: /var/lib/headgate }
- { name: uploads, mountPath: /tmp }
{{- range $index, $file := .Values.secretFiles }}
- { name: secret-{{ $index }}, mountPath: {{ $file.mountPath | quote }}, readOnly: true }
{{- end }}
{{- end }}

{{- define "headgate.volumes" -}}
- name: uploads
  emptyDir: { sizeLimit: {{ .Values.uploads.sizeLimit | quote }} }
{{- range $index, $file := .Values.secretFiles }}
- name: secret-{{ $index }}
  secret: { secretName: {{ $file.secret | quote }} }
{{- end }}
{{- end }}

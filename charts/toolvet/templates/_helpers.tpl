{{- define "toolvet.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- /* The prefix of every object's name. 40 characters leave room for the suffixes below a limit of 63. */}}
{{- define "toolvet.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "toolvet.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Who records changes of live tools: the user name of the collector's service account. */}}
{{- define "toolvet.collectorUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "toolvet.fullname" . }}-collector
{{- end -}}

{{- define "toolvet.labels" -}}
app.kubernetes.io/name: {{ include "toolvet.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* What a selector may use: nothing that an upgrade changes. Argument: (list . component). */}}
{{- define "toolvet.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "toolvet.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- /* The Secret with the pair the gate serves. */}}
{{- define "toolvet.tlsSecret" -}}
{{- if eq .Values.webhook.certificates.mode "provided" -}}
{{ .Values.webhook.certificates.existingSecret }}
{{- else -}}
{{ include "toolvet.fullname" . }}-tls
{{- end -}}
{{- end -}}

{{- define "toolvet.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{- /* The fields both Pods have in common. */}}
{{- define "toolvet.podSpec" -}}
automountServiceAccountToken: true
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "toolvet.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* The admission policies live as long as the custom resources they guard. */}}
{{- define "toolvet.policyMetadata" -}}
labels: {{- include "toolvet.labels" . | nindent 2 }}
{{- if .Values.crds.keep }}
annotations:
  helm.sh/resource-policy: keep
{{- end }}
{{- end -}}

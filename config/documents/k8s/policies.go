// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/v1alpha1"
	"slices"
)

// KubeAdmissionControlConfig configures a plugin of the API server for admission. Its name is that of the plugin.
type KubeAdmissionControlConfig struct {
	document.Named `yaml:",inline"`
	// The configuration, as the plugin documents it.
	Configuration v1alpha1.Object `yaml:"configuration,omitempty" merge:"replace" like:"cluster.apiServer.admissionControl"`
}

var admissionControl = document.Of[KubeAdmissionControlConfig]("KubeAdmissionControlConfig", `apiVersion: v1alpha1
kind: KubeAdmissionControlConfig
name: PodSecurity
configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults:
        enforce: baseline
        enforce-version: latest
    exemptions:
        namespaces:
            - kube-system
`, document.ControlPlane, document.Protects)

// KubeAuditPolicyConfig says what the API server writes to its audit log.
type KubeAuditPolicyConfig struct {
	document.Header `yaml:",inline"`
	// A Policy of audit.k8s.io/v1, as Kubernetes documents it.
	Configuration v1alpha1.Object `yaml:"configuration" required:"true" merge:"replace" maps:"cluster.apiServer.auditPolicy"`
}

var auditPolicy = document.Of[KubeAuditPolicyConfig]("KubeAuditPolicyConfig", `apiVersion: v1alpha1
kind: KubeAuditPolicyConfig
configuration:
    apiVersion: audit.k8s.io/v1
    kind: Policy
    rules:
        - level: Metadata
`, document.ControlPlane, document.Protects)

// KubeAuthenticationConfig says whose tokens the API server accepts.
type KubeAuthenticationConfig struct {
	document.Header `yaml:",inline"`
	// An AuthenticationConfiguration, as Kubernetes documents it. Without anonymous, only probes need no certificate.
	Configuration v1alpha1.Object `yaml:"configuration" required:"true" merge:"replace"`
}

var authentication = document.Of[KubeAuthenticationConfig]("KubeAuthenticationConfig", `apiVersion: v1alpha1
kind: KubeAuthenticationConfig
configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: AuthenticationConfiguration
    anonymous:
        enabled: true
        conditions:
            - path: /livez
            - path: /readyz
            - path: /healthz
`, document.ControlPlane, document.Protects)

// KubeAuthorizerConfig is a step of authorization in the API server. The steps have the order of their documents.
type KubeAuthorizerConfig struct {
	document.Named `yaml:",inline"`
	// What decides.
	Type AuthorizerType `yaml:"type" required:"true" like:"cluster.apiServer.authorizationConfig"`
	// The settings of a webhook, as Kubernetes documents them.
	Webhook v1alpha1.Object `yaml:"webhook,omitempty" merge:"replace" like:"cluster.apiServer.authorizationConfig"`
}

// AuthorizerType is what decides in a step of authorization.
type AuthorizerType string

// The types.
const (
	AuthorizerNode    AuthorizerType = "Node"
	AuthorizerRBAC    AuthorizerType = "RBAC"
	AuthorizerWebhook AuthorizerType = "Webhook"
)

// Values implements document.Enum.
func (AuthorizerType) Values() []string {
	return document.EnumOf(AuthorizerNode, AuthorizerRBAC, AuthorizerWebhook)
}

var authorizer = document.Of[KubeAuthorizerConfig]("KubeAuthorizerConfig", `apiVersion: v1alpha1
kind: KubeAuthorizerConfig
name: node
type: Node
`, document.ControlPlane, document.Protects)

// Validate implements document.Validator.
func (c *KubeAuthorizerConfig) Validate(r *document.Report) {
	if (c.Type == AuthorizerWebhook) != (len(c.Webhook) > 0) {
		r.Wrong("webhook", "type: %s and webhook go together", AuthorizerWebhook)
	}
}

// KubeEtcdEncryptionConfig says how the API server encrypts what it stores in etcd.
type KubeEtcdEncryptionConfig struct {
	document.Header `yaml:",inline"`
	// An EncryptionConfiguration, as Kubernetes documents it.
	Config v1alpha1.Object `yaml:"config" required:"true" merge:"replace"`
}

var etcdEncryption = document.Of[KubeEtcdEncryptionConfig]("KubeEtcdEncryptionConfig", `apiVersion: v1alpha1
kind: KubeEtcdEncryptionConfig
config:
    apiVersion: apiserver.config.k8s.io/v1
    kind: EncryptionConfiguration
    resources:
        - resources:
            - secrets
          providers:
            - secretbox:
                keys:
                    - name: key1
                      secret: c2VjcmV0IGlzIHNlY3VyZSwgb3IgaXMgaXQ/ISEhISE=
            - identity: {}
`, document.ControlPlane, document.Protects, document.Replaces("cluster.aescbcEncryptionSecret", "cluster.secretboxEncryptionSecret"))

// Overlay implements overlay.Overlayer.
func (c *KubeAdmissionControlConfig) Overlay(main *v1alpha1.Config) {
	plugins := &main.Cluster.APIServer.AdmissionControl
	*plugins = append(slices.Clip(*plugins), v1alpha1.AdmissionPlugin{Name: c.DocName, Configuration: c.Configuration})
}

// Overlay implements overlay.Overlayer.
func (c *KubeAuthorizerConfig) Overlay(main *v1alpha1.Config) {
	steps := &main.Cluster.APIServer.AuthorizationConfig
	*steps = append(slices.Clip(*steps), v1alpha1.Authorizer{Type: string(c.Type), Name: c.DocName, Webhook: c.Webhook})
}

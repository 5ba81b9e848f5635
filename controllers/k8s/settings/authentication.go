// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"maps"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// apiServerConfigVersion is the version of the API server's configuration files.
const apiServerConfigVersion = "apiserver.config.k8s.io/v1"

// probePaths are what the kubelet's probes read, without a certificate.
var probePaths = []string{"/livez", "/readyz", "/healthz"}

// Authentication returns the API server's configuration of authentication. By default probes need no certificate, and nothing else is
// permitted without one. A configuration that does not say what is permitted without a certificate, since it is about tokens, does not change
// that: Kubernetes' own default is everything that a role permits.
func Authentication(cfg *view.Config) *k8s.AuthenticationConfigSpec {
	var conditions []any
	for _, path := range probePaths {
		conditions = append(conditions, map[string]any{"path": path})
	}

	out := map[string]any{
		"apiVersion": apiServerConfigVersion,
		"kind":       "AuthenticationConfiguration",
		"anonymous":  map[string]any{"enabled": true, "conditions": conditions},
	}

	maps.Copy(out, cfg.Authentication())

	return &k8s.AuthenticationConfigSpec{Config: out}
}

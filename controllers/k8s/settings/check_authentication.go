// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/k8s/flags"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/controllers/k8s/schemas"
	"github.com/seed-59268b81/talos/kube"
)

// authentication checks a configuration of authentication that is not the default.
func (c *check) authentication() {
	const (
		document = "KubeAuthenticationConfig"
		at       = document + ".configuration"
	)

	given, server := c.cfg.Authentication(), c.cfg.APIServer()
	if len(given) == 0 {
		return
	}

	extra := extraArgs(server.ExtraArgs)

	if conflicts := pods.AuthenticationFlags(extra); len(conflicts) > 0 {
		c.wrong(document, "the API server cannot have it beside the extra arguments %s: set the same in the document, and remove them",
			strings.Join(conflicts, ", "))
	} else if !pods.UseAuthenticationConfig(server.Image, extra) {
		c.wrong(document, "the API server %s does not take it: remove the document", flags.Version(server.Image))
	}

	c.kindOf(at, given, "AuthenticationConfiguration", schemas.AuthenticationConfiguration, "v1beta1", "v1alpha1")

	if problem := refusesProbes(given); problem != "" {
		c.wrong(at+".anonymous", "%s: the kubelet's probes of the API server have no certificate, and it would restart it again and again", problem)
	}
}

// refusesProbes returns why an AuthenticationConfiguration refuses requests of the kubelet's probes, "" if it permits them.
func refusesProbes(given view.Object) string {
	anonymous, set := given["anonymous"].(map[string]any)
	if !set {
		return "" // the system's own are permitted
	}

	if anonymous["enabled"] != true {
		return "enabled is not true"
	}

	conditions := kube.Items(anonymous, "conditions")
	if len(conditions) == 0 {
		return ""
	}

	for _, path := range []string{"/livez", "/readyz"} {
		if !slices.ContainsFunc(conditions, func(one map[string]any) bool { return one["path"] == path }) {
			return fmt.Sprintf("no condition has the path %s", path)
		}
	}

	return ""
}

// kindOf checks the kind of a configuration file of the API server, and the fields of its current version. Older versions have other fields.
func (c *check) kindOf(at string, given view.Object, kind, schema string, older ...string) {
	if given["kind"] != kind {
		c.wrong(at+".kind", "want %s", kind)
	}

	group, _, _ := strings.Cut(apiServerConfigVersion, "/")
	version, _ := given["apiVersion"].(string)

	switch {
	case version == apiServerConfigVersion:
		c.object(at, schema, given)
	case !slices.ContainsFunc(older, func(v string) bool { return version == group+"/"+v }):
		c.wrong(at+".apiVersion", "want %s", apiServerConfigVersion)
	}
}

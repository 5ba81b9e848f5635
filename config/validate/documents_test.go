// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/validate"
)

// TestDocumentsBesideOthers checks documents beside the v1alpha1 document of existing clients, and beside each other.
func TestDocumentsBesideOthers(t *testing.T) {
	const kind = "apiVersion: v1alpha1\nkind: "

	container := func(name, waits string) string {
		return kind + "ContainerConfig\nname: " + name + "\nimage: a/b:1\ndependsOn: {containers: [" + waits + "]}\n"
	}

	const (
		noHostDNS = "machine: {features: {hostDNS: {enabled: false}}}"
		noForward = "machine: {features: {hostDNS: {forwardKubeDNSToHost: false}}}"
		overTLS   = kind + "ResolverConfig\nnameservers:\n  - {address: 192.0.2.1, protocol: DoT}\n"
		modules   = "machine: {kernel: {modules: [{name: btrfs}]}}"
		state     = "machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}}}"
		encrypted = "encryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}\n"
	)

	for name, tt := range map[string]struct {
		patches []string
		want    string // part of a finding; nothing if there is none of the kind of not
		not     string
	}{
		"servers, and host DNS by keys":  {[]string{kind + "ResolverConfig\nnameservers: [{address: 192.0.2.1}]\n"}, "", ": "},
		"host DNS by both":               {[]string{kind + "ResolverConfig\nhostDNS: {enabled: true}\n"}, "machine.features.hostDNS.enabled: the ResolverConfig document sets this too", ""},
		"host DNS on, and off by a key":  {[]string{noHostDNS, kind + "ResolverConfig\nhostDNS: {enabled: true}\n"}, "machine.features.hostDNS.enabled: the ResolverConfig", ""},
		"servers over TLS, host DNS on":  {[]string{overTLS}, "", "needs the machine's own"},
		"servers over TLS, host DNS off": {[]string{noHostDNS, overTLS}, "ResolverConfig.nameservers[0].protocol: DoT needs the machine's own", ""},
		"servers over TLS, not for pods": {[]string{noForward, overTLS}, "ResolverConfig.nameservers: pods cannot ask any of these servers", ""},
		"servers over TLS, one for pods": {[]string{noForward, overTLS + "  - {address: 192.0.2.1}\n"}, "", ": "},
		"names beyond those of machines": {[]string{
			kind + "ResolverConfig\nsearchDomains: {domains: [a_b.example.]}\n", kind + "StaticHostConfig\nname: 192.0.2.1\nhostnames: [a_b, c.example.]\n",
		}, "", ": "},
		"an object that both have":          {[]string{kind + "KubePrismConfig\n"}, "machine.features.kubePrism: the KubePrismConfig document sets this too", ""},
		"a module that both have":           {[]string{modules, kind + "KernelModuleConfig\nname: btrfs\n"}, "machine.kernel.modules: the KernelModuleConfig document sets this too", ""},
		"a size, and encryption by keys":    {[]string{state, kind + "VolumeConfig\nname: STATE\nprovisioning: {maxSize: 1GiB}\n"}, "", "sets this too"},
		"encryption of two volumes":         {[]string{state, kind + "VolumeConfig\nname: EPHEMERAL\n" + encrypted}, "", "sets this too"},
		"encryption of a volume twice":      {[]string{state, kind + "VolumeConfig\nname: STATE\n" + encrypted}, "systemDiskEncryption.state: the VolumeConfig document sets this too", ""},
		"encryption without effect, once":   {[]string{kind + "UserVolumeConfig\nname: a\n" + encrypted + "---\n" + kind + "UserVolumeConfig\nname: b\n" + encrypted}, "UserVolumeConfig[a].encryption: has no effect", ""},
		"a swap volume":                     {[]string{kind + "SwapVolumeConfig\nname: a\nprovisioning: {diskSelector: {match: 'true'}, minSize: 1GiB}\n"}, "", ": "},
		"a swap volume on no disk":          {[]string{kind + "SwapVolumeConfig\nname: a\nprovisioning: {minSize: 1GiB}\n"}, "provisioning.diskSelector: is missing", ""},
		"images with keys":                  {[]string{kind + "ImageVerificationConfig\nrules: [{image: '*', skip: true}]\n"}, "", ": "},
		"images without keys":               {[]string{kind + "ImageVerificationConfig\nrules: [{image: '*', keyless: {issuer: 'https://a.example', subject: a}}]\n"}, "keyless: has no effect in this version, and", ""},
		"KubeSpan off":                      {[]string{kind + "KubeSpanConfig\nenabled: false\nmtu: 1420\n"}, "", ": "},
		"KubeSpan on":                       {[]string{kind + "KubeSpanConfig\nenabled: true\n"}, "KubeSpanConfig.enabled: has no effect in this version, and", ""},
		"KubeSpan without discovery":        {[]string{kind + "KubeSpanConfig\nenabled: true\n", "cluster: {discovery: {enabled: false}}"}, "KubeSpan needs discovery", ""},
		"a long name of a new link":         {[]string{kind + "DummyLinkConfig\nname: a-name-of-17-byte\n"}, "DummyLinkConfig[a-name-of-17-byte].name", ""},
		"a long name of an alias":           {[]string{kind + "LinkConfig\nname: a-name-of-17-byte\n"}, "", ": "},
		"containers that wait":              {[]string{container("a", "b, c"), container("b", "c"), container("c", "")}, "", ": "},
		"containers that wait for another":  {[]string{container("a", "b"), container("b", "c"), container("c", "b")}, "ContainerConfig[c].dependsOn.containers[0]: the containers b -> c -> b wait", ""},
		"a container that waits for itself": {[]string{container("a", "a")}, "a -> a wait", ""},
		"a container that there is not":     {[]string{container("a", "b")}, `there is no ContainerConfig "b"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := validate.Validate(patched(t, configtest.ControlPlane(t), tt.patches...), validate.Metal)

			var findings validate.Findings

			errors.As(err, &findings)

			count := 0

			for _, f := range findings {
				if tt.want != "" && strings.Contains(f.Error(), tt.want) {
					count++
				}

				if tt.not != "" && strings.Contains(f.Error(), tt.not) {
					t.Errorf("got %v", f)
				}
			}

			if tt.want != "" && count != 1 {
				t.Errorf("got %v, want %q once", err, tt.want)
			}
		})
	}
}

// TestDocumentsOfControlPlanes checks that a worker cannot have these 14 kinds of documents, and can have all others.
func TestDocumentsOfControlPlanes(t *testing.T) {
	only := []string{
		"KubeAPIServerConfig", "KubeAdmissionControlConfig", "KubeAggregatorCAConfig", "KubeAuditPolicyConfig", "KubeAuthenticationConfig",
		"KubeAuthorizerConfig", "KubeControllerManagerConfig", "KubeCoreDNSConfig", "KubeEtcdEncryptionConfig", "KubeFlannelCNIConfig",
		"KubeProxyConfig", "KubeSchedulerConfig", "KubeServiceAccountConfig", "KubeTalosAPIAccessConfig",
	}

	var got []string

	for _, name := range config.Kinds() {
		if name == "HostnameConfig" {
			continue // the worker has one already
		}

		kind, _ := config.KindOf(name)

		_, err := validate.Validate(patched(t, configtest.Worker(t), kind.Example), validate.Metal)
		if err != nil && strings.Contains(err.Error(), "a worker cannot have this document") {
			got = append(got, name)
		}
	}

	if diff := cmp.Diff(only, got); diff != "" {
		t.Errorf("kinds for control planes (-want +got):\n%s", diff)
	}
}

// TestSettingsWithoutEffect: a setting that cannot have an effect where it is gives a warning.
func TestSettingsWithoutEffect(t *testing.T) {
	for _, tt := range []struct{ document, want string }{
		{"kind: VolumeConfig\nname: ETCD\ntrim: {interval: 24h}\n", "VolumeConfig[ETCD].trim: has no effect"},
		{"kind: VolumeConfig\nname: EPHEMERAL\ntrim: {interval: 24h}\n", ""},
	} {
		warnings, err := validate.Validate(patched(t, configtest.ControlPlane(t), "apiVersion: v1alpha1\n"+tt.document), validate.Metal)
		if err != nil {
			t.Fatal(err)
		}

		found := slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, ": has no effect") })
		if found != (tt.want != "") || found && !slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, tt.want) }) {
			t.Errorf("%s: got %q, want %q", tt.document, warnings, tt.want)
		}
	}
}

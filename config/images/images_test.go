// SPDX-License-Identifier: Apache-2.0

package images

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestReferencesAreFull(t *testing.T) {
	full := regexp.MustCompile(`^[a-z0-9.-]+\.[a-z]+(/[a-z0-9-]+)+:v?[0-9]+\.[0-9]+(\.[0-9]+)?$`)
	seen := map[string]bool{}

	for _, ref := range Cache() {
		if !full.MatchString(ref) {
			t.Errorf("got reference %q, want registry/path:version", ref)
		}

		if seen[ref] {
			t.Errorf("%s is listed twice", ref)
		}

		seen[ref] = true
	}

	if got, want := len(Cache()), len(Node())+2; got != want {
		t.Errorf("images in the cache: got %d, want those of a node, one for NetworkPolicies and the test workload, %d", got, want)
	}
}

func TestNodeHasTheDefaults(t *testing.T) {
	defaults := []string{
		DefaultKubeAPIServer, DefaultKubeControllerManager, DefaultKubeScheduler, DefaultKubeProxy, DefaultKubelet,
		DefaultEtcd, DefaultCoreDNS, DefaultPause, DefaultFlannel,
	}

	got := Node()
	slices.Sort(got)
	slices.Sort(defaults)

	if !slices.Equal(got, defaults) {
		t.Errorf("images of a node: got %v, want %v", got, defaults)
	}
}

func TestKubernetesTakesTheVersion(t *testing.T) {
	for _, ref := range Kubernetes("v1.36.9") {
		if !strings.HasSuffix(ref, ":v1.36.9") {
			t.Errorf("got %s, want the tag v1.36.9", ref)
		}
	}
}

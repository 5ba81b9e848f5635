// SPDX-License-Identifier: Apache-2.0

package validate_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/validate"
)

// advised is the patch that an error advises.
var advised = regexp.MustCompile(`patch the configuration with (.*) in the same call`)

// TestRemoval: a document that says what a key says already is refused, with a patch that removes the key. With that patch beside the document,
// in one call, the configuration is accepted, and it has the document.
func TestRemoval(t *testing.T) {
	const kind = "apiVersion: v1alpha1\nkind: "

	for name, tt := range map[string]struct {
		before, document string
	}{
		"discovery":  {"", kind + "DiscoveryServiceConfig\nname: own\nendpoint: https://discovery.example.com/\n"},
		"host DNS":   {"", kind + "ResolverConfig\nhostDNS: {enabled: true}\n"},
		"KubePrism":  {"", kind + "KubePrismConfig\n"},
		"modules":    {"machine: {kernel: {modules: [{name: btrfs}]}}", kind + "KernelModuleConfig\nname: btrfs\n"},
		"a hostname": {"machine: {network: {hostname: node}}", kind + "HostnameConfig\nhostname: other\nauto: {$patch: delete}\n"},
		"encryption": {
			"machine: {systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}}}",
			kind + "VolumeConfig\nname: STATE\nencryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			patches := []string{tt.document}
			if tt.before != "" {
				patches = []string{tt.before, tt.document}
			}

			var advice []string

			for _, f := range clashes(t, patched(t, configtest.ControlPlane(t), patches...)) {
				m := advised.FindStringSubmatch(f)
				if m == nil {
					t.Fatalf("%s: it does not say how to remove the key", f)
				}

				advice = append(advice, m[1])
			}

			if len(advice) == 0 {
				t.Fatal("the two do not clash")
			}

			// One patch with several documents, as a file has them.
			all := strings.Join(append(advice, tt.document), "\n---\n")

			cfg := patched(t, configtest.ControlPlane(t), append(patches[:len(patches)-1:len(patches)-1], all)...)
			if left := clashes(t, cfg); len(left) > 0 {
				t.Errorf("after the advice %q: %q", advice, left)
			}
		})
	}
}

// clashes returns the findings about documents and keys that say the same.
func clashes(t *testing.T, cfg *config.Config) (found []string) {
	t.Helper()

	_, err := validate.Validate(cfg, validate.Metal)

	var findings validate.Findings
	if err != nil && !errors.As(err, &findings) {
		t.Fatal(err)
	}

	for _, f := range findings {
		if strings.Contains(f.Error(), "sets this too") {
			found = append(found, f.Error())
		}
	}

	return found
}

// TestDiscoveryPage applies the patches of docs/discovery.md: the first one to configurations as they are generated now, and the second one to those
// of older releases.
func TestDiscoveryPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/discovery.md")
	if err != nil {
		t.Fatal(err)
	}

	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Fatalf("the page has %d patches, want 2", len(blocks))
	}

	out, err := generate.New("c", "https://192.0.2.1:6443", "", generate.Options{Secrets: configtest.Bundle(t), Contract: generate.Newest})
	if err != nil {
		t.Fatal(err)
	}

	for name, tt := range map[string]struct {
		before []byte
		patch  string
	}{
		"as they are generated now": {out.ControlPlane, blocks[0][1]},
		"of older releases":         {configtest.ControlPlane(t), blocks[1][1]},
	} {
		loaded, err := patch.Load([]string{tt.patch})
		if err != nil {
			t.Fatal(err)
		}

		after, err := patch.Apply(tt.before, loaded...)
		if err != nil {
			t.Fatal(err)
		}

		cfg, err := config.Decode(after)
		if err != nil {
			t.Fatal(err)
		}

		if _, err := validate.Validate(cfg, validate.Metal); err != nil || !strings.Contains(string(after), "discovery.example.com") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

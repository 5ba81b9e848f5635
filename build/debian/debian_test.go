// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const stanzas = `Package: linux-image-cloud-amd64
Source: linux-signed-amd64 (6.1.192+2)
Version: 6.1.192-2
Depends: linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2)
Description: Linux
 with a second line: of text
SHA256: aa

Package: nftables
Version: 1.0.6-2
Depends: libnftables1 (= 1.0.6-2), libc6 (>= 2.34)
SHA256: bb

Package: nftables
Version: 1.0.5-1
SHA256: cc
`

func TestParseStanzas(t *testing.T) {
	want := []Package{
		{"linux-image-cloud-amd64", "6.1.192-2", "aa", "linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2)"},
		{"nftables", "1.0.6-2", "bb", "libnftables1 (= 1.0.6-2), libc6 (>= 2.34)"},
	}

	if diff := cmp.Diff(want, parseStanzas([]byte(stanzas))); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
}

func FuzzParseStanzas(f *testing.F) {
	f.Add(stanzas)
	f.Add("Package: \n\nVersion")
	f.Add("Package: a\nPackage: b\n\n\n: \n")

	f.Fuzz(func(t *testing.T, raw string) {
		seen := map[string]bool{}

		for _, p := range parseStanzas([]byte(raw)) {
			if p.Name == "" || seen[p.Name] {
				t.Errorf("got the name %q, want each name once and none empty", p.Name)
			}

			seen[p.Name] = true
		}
	})
}

func TestDependency(t *testing.T) {
	for name, test := range map[string]struct{ depends, pattern, want, err string }{
		"with version":    {"linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2)", "linux-image-6*", "linux-image-6.1.0-56-cloud-amd64", ""},
		"among others":    {"kmod, linux-image-6.12 , initramfs", "linux-image-6*", "linux-image-6.12", ""},
		"none":            {"kmod", "linux-image-6*", "", "want one"},
		"empty":           {"", "linux-image-6*", "", "want one"},
		"another flavour": {"linux-image-6.1.0-5-amd64, linux-image-6.1.0-5-cloud-amd64", "linux-image-6*-amd64", "linux-image-6.1.0-5-amd64", ""},
		"a flavour":       {"linux-image-6.1.0-5-amd64, linux-image-6.1.0-5-cloud-amd64", "linux-image-6*-cloud-amd64", "linux-image-6.1.0-5-cloud-amd64", ""},
		"a short name":    {"linux-image-6-amd64, linux-image-6", "linux-image-6*-amd64", "linux-image-6-amd64", ""},
		"two that match":  {"linux-image-6.1, linux-image-6.2", "linux-image-6*", "", "got 2"},
		"prefix in a gap": {"xlinux-image-6", "linux-image-6*", "", "want one"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := dependency(test.depends, test.pattern)

			if got != test.want || (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %q, %v; want %q, error with %q", got, err, test.want, test.err)
			}
		})
	}
}

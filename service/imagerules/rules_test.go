// SPDX-License-Identifier: Apache-2.0

package imagerules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/service/imagerules"
)

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern, image string
		want           bool
	}{
		{"*", "docker.io/library/nginx:1", true},
		{"registry.k8s.io/*", "registry.k8s.io/coredns/coredns:v1", true},
		{"registry.k8s.io/*", "registry.k8s.io.example.com/coredns:v1", false},
		{"registry.k8s.io/*", "example.com/registry.k8s.io/coredns:v1", false},
		{"registry.k8s.io/pause", "registry.k8s.io/pause:3.10", false},
		{"registry.k8s.io/pause:*", "registry.k8s.io/pause:3.10", true},
		{"registry.k8s.io/pause*", "registry.k8s.io/pause@sha256:00", true},
		// The same registry, written in another way.
		{"registry.k8s.io/*", "Registry.K8S.io/pause:1", true},
		{"registry.k8s.io/*", "registry.k8s.io:443/pause:1", true},
		{"Registry.k8s.io:443/*", "registry.k8s.io/pause:1", true},
		{"registry.k8s.io/*", "registry.k8s.io:5000/pause:1", false},
		{"registry.k8s.io:5000/*", "registry.k8s.io:5000/pause:1", true},
		// Repositories are not the same in any case.
		{"example.com/App:1", "example.com/app:1", false},
		{"*/app:*", "example.com/team/app:1", true},
		{"*app*1", "example.com/app:2", false},
		{"**", "a/b", true},
		{"", "a/b", false},
		{"", "", true},
	} {
		if got := imagerules.Matches(tt.pattern, tt.image); got != tt.want {
			t.Errorf("%q, %q: got %t, want %t", tt.pattern, tt.image, got, tt.want)
		}
	}
}

const key = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEvE8EgGniN5tQpjz/GUBOohT7xcjB
ZmDlRu5Gx+iGRVWF7YjWXDPb7czbOnAFaJLSt8yJPfu5rZVfFxl0GetWKA==
-----END PUBLIC KEY-----
`

func TestOf(t *testing.T) {
	rules := imagerules.Rules{
		{Image: "example.com/open/*", Skip: true},
		{Image: "example.com/*", PublicKey: key},
		{Image: "broken.example.com/*", PublicKey: "no key"},
		{Image: "later.example.com/*"},
		{Image: "docker.io/*", Deny: true},
	}

	for _, tt := range []struct {
		image string
		want  imagerules.Action
		rule  int
		fails string
	}{
		{"example.com/open/app:1", imagerules.Allow, 0, ""},
		{"example.com/app:1", imagerules.Verify, 1, ""},
		{"docker.io/library/nginx:1", imagerules.Refuse, 4, ""},
		{"quay.io/app:1", imagerules.Unruled, 0, ""},
		// What is not understood is not allowed.
		{"broken.example.com/app:1", 0, 0, "rules[2] of ImageVerificationConfig"},
		{"later.example.com/app:1", 0, 0, "nothing that this version knows"},
	} {
		got, err := rules.Of(tt.image)
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) || got.Action != tt.want || got.Rule != tt.rule {
			t.Errorf("%s: got %+v, %v", tt.image, got, err)
		}
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.json")

	if got, err := imagerules.Read(path); err != nil || got != nil {
		t.Errorf("without a file: got %v, %v", got, err)
	}

	want := imagerules.Rules{{Image: "a/*", PublicKey: key}, {Image: "*", Deny: true}}

	text, err := want.Text()
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}

	got, err := imagerules.Read(path)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("got %v, %s", err, diff)
	}

	if err := os.WriteFile(path, text[:10], 0o600); err != nil {
		t.Fatal(err)
	}

	if got, err := imagerules.Read(path); err == nil {
		t.Errorf("half a file: got %v, want an error", got)
	}
}

// FuzzMatches compares with a regular expression.
func FuzzMatches(f *testing.F) {
	f.Add("registry.k8s.io/*", "registry.k8s.io/pause:1")
	f.Add("*a*b*", "xaxbx")
	f.Add("**a", "aaaaaaaab")

	f.Fuzz(func(t *testing.T, pattern, image string) {
		if strings.ContainsAny(pattern+image, "/") || len(pattern) > 100 || len(image) > 1000 {
			return // the registry is compared in another way
		}

		want := regexp.MustCompile(`(?s)\A` + strings.ReplaceAll(regexp.QuoteMeta(strings.ToValidUTF8(pattern, "?")), `\*`, `.*`) + `\z`).
			MatchString(strings.ToValidUTF8(image, "?"))

		if got := imagerules.Matches(strings.ToValidUTF8(pattern, "?"), strings.ToValidUTF8(image, "?")); got != want {
			t.Errorf("%q, %q: got %t, want %t", pattern, image, got, want)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package spdx

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var samples = []Package{
	{Name: "golang.org/x/sys", Version: "v0.30.0", License: "BSD-3-Clause", PURLs: []string{"pkg:golang/golang.org/x/sys@v0.30.0"}},
	{
		Name: "libc6", Version: "2.36-9+deb12u10", SHA256: strings.Repeat("ab", 32), PURLs: []string{"pkg:deb/debian/libc6@2.36-9%2Bdeb12u10"},
		CPEs: []string{"cpe:2.3:a:gnu:glibc:2.36:*:*:*:*:*:*:*"},
	},
	{Name: "bare"},
}

func TestEncode(t *testing.T) {
	b, err := Encode("talos", time.Unix(1700000000, 0), samples)
	if err != nil {
		t.Fatal(err)
	}

	got, err := Decode(b)
	if d := cmp.Diff(samples, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}

	// What SPDX 2.3 requires of a document and of a package.
	var d map[string]any
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}

	for _, key := range []string{"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"} {
		if d[key] == nil {
			t.Errorf("the document has no %s", key)
		}
	}

	ids := map[any]bool{}

	for _, p := range d["packages"].([]any) {
		p := p.(map[string]any)
		for _, key := range []string{"SPDXID", "name", "downloadLocation", "filesAnalyzed"} {
			if p[key] == nil {
				t.Errorf("%v has no %s", p["name"], key)
			}
		}

		if ids[p["SPDXID"]] {
			t.Errorf("%v is there twice", p["SPDXID"])
		}

		ids[p["SPDXID"]] = true
	}

	if other, err := Encode("talos", time.Unix(1700000000, 0), samples[1:]); err != nil || strings.Contains(string(other), d["documentNamespace"].(string)) {
		t.Errorf("another document has the same identifier (%v)", err)
	}
}

func TestBadDocuments(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "decode SPDX: ",
		"{}":                         `it has version "", want SPDX-2.x`,
		`{"spdxVersion":"SPDX-3.0"}`: `it has version "SPDX-3.0"`,
		`{"spdxVersion":"SPDX-2.3","packages":[{"versionInfo":"1"}]}`: "package 1 has no name",
	} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// FuzzDecode encodes what can be decoded, and decodes it again.
func FuzzDecode(f *testing.F) {
	if b, err := Encode("talos", time.Unix(0, 0), samples); err == nil {
		f.Add(b)
	}

	f.Add([]byte(`{"spdxVersion":"SPDX-2.2","packages":[{"name":"a","licenseConcluded":"MIT","licenseDeclared":"NONE"}]}`))

	f.Fuzz(func(t *testing.T, b []byte) {
		packages, err := Decode(b)
		if err != nil {
			return
		}

		again, err := Encode("x", time.Unix(0, 0), packages)
		if err != nil {
			t.Fatal(err)
		}

		got, err := Decode(again)
		if d := cmp.Diff(packages, got, cmpopts.EquateEmpty()); err != nil || d != "" {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"encoding/base64"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/platform"
)

func gzipped(t testing.TB, text string) []byte {
	t.Helper()

	var b bytes.Buffer

	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	return b.Bytes()
}

func TestUserData(t *testing.T) {
	const text = "machine: {}\n"

	encode := func(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

	for _, tt := range []struct {
		name, value, want string
		fails             bool
	}{
		{"none", "", "", false},
		{"plain", encode([]byte(text)), text, false},
		{"packed", encode(gzipped(t, text)), text, false},
		{"no base64", "machine: {}", "", true},
		{"cut off", encode(gzipped(t, text)[:12]), "", true},
		{"too much", encode(gzipped(t, string(make([]byte, maxConfig+1)))), "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fromUserData(tt.value)
			if string(got) != tt.want || (err != nil) != tt.fails {
				t.Errorf("got %q, %v, want %q, an error: %t", got, err, tt.want, tt.fails)
			}
		})
	}
}

// The image and the early argument come before the platform, the inline argument comes after it.
func TestSourcesInOrder(t *testing.T) {
	var got []string

	all := fixedSources(fstest.MapFS{}, cmdline.Parse(""), platform.Platform{})

	for _, s := range append(append(all.before, source{name: "platform"}), all.after...) {
		got = append(got, s.name)
	}

	want := []string{
		"the image (/" + layout.EmbeddedConfig + ")", "kernel argument " + cmdline.ConfigEarly, "the variable USERDATA of the container", "platform",
		"kernel argument " + cmdline.ConfigInline,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzUserData(f *testing.F) {
	f.Add(base64.StdEncoding.EncodeToString([]byte("machine: {}")))
	f.Add(base64.StdEncoding.EncodeToString(gzipped(f, "machine: {}")))
	f.Fuzz(func(t *testing.T, value string) {
		if text, err := fromUserData(value); err == nil && len(text) > maxConfig && len(value) < maxConfig {
			t.Errorf("%d bytes from %d", len(text), len(value))
		}
	})
}

func FuzzArguments(f *testing.F) {
	f.Add("KLUv/QQAWQAAbWFjaGluZToge32D3Wcb", "")
	f.Add("KLUv/QQAWQAAbWFj", "aGluZToge32D3Wcb")
	f.Fuzz(func(t *testing.T, first, second string) {
		if text, err := fromArgs([]string{first, second}); err == nil && len(text) > maxConfig {
			t.Errorf("%d bytes", len(text))
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"bytes"
	"encoding/base64"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/gzip"

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

	for _, s := range fixedSources(fstest.MapFS{}, cmdline.Parse(""), platform.Platform{}) {
		got = append(got, s.name)
	}

	if len(got) != 4 || got[1] != "kernel argument "+cmdline.ConfigEarly || got[2] != "the variable USERDATA of the container" || got[3] != "kernel argument "+cmdline.ConfigInline {
		t.Errorf("got %q", got)
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

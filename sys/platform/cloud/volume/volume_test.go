// SPDX-License-Identifier: Apache-2.0

//go:build linux

package volume

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/sys/platform/cloud"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestFetch(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")

	for path, text := range map[string]string{filepath.Join(dir, "user-data"): "machine: {}", outside: "secret"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink(outside, filepath.Join(dir, "meta-data")); err != nil {
		t.Fatal(err)
	}

	settled := make(chan struct{})
	v := &Reader{
		Settled: settled,
		devices: func() ([]device, error) { return []device{{"/dev/sr0", "iso9660", "cidata"}}, nil },
		read:    func(_ device, path string) ([]byte, error) { return readFile(dir, path) },
	}

	fetch := func(url string) (string, error) {
		text, err := v.Fetch(t.Context(), cloud.Request{URL: url})

		return string(text), err
	}

	if got, err := fetch("volume://cidata/user-data"); got != "machine: {}" || err != nil {
		t.Errorf("a file: got %q, %v", got, err)
	}

	if got, err := fetch("volume://CIDATA/user-data"); got != "machine: {}" || err != nil {
		t.Errorf("a label in upper case: got %q, %v", got, err)
	}

	if _, err := fetch("volume://cidata/network-config"); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("a missing file: got error %v, want %v", err, cloud.ErrNotFound)
	}

	if got, err := fetch("volume://cidata/meta-data"); err == nil || errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("a link that leads out: got %q, %v, want an error", got, err)
	}

	if _, err := fetch("volume://metal-iso/config.yaml"); err == nil || errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("before all devices have drivers: got error %v, want one that asks for another try", err)
	}

	close(settled)

	if _, err := fetch("volume://metal-iso/config.yaml"); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("a missing volume: got error %v, want %v", err, cloud.ErrNotFound)
	}

	for _, url := range []string{"volume://cidata", "http://cidata/x", "volume:///x"} {
		if _, err := fetch(url); err == nil {
			t.Errorf("%s: got no error", url)
		}
	}
}

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

// A file is looked for on all CDs, and on no other device. One that cannot be read is reported if no other has the file.
func TestAnyCD(t *testing.T) {
	settled := make(chan struct{})
	broken := errors.New("unknown file system type 'udf'")
	files := map[string]error{"/dev/sr0": cloud.ErrNotFound, "/dev/sr1": nil, "/dev/vda1": nil}

	v := &Reader{
		Settled: settled,
		devices: func() ([]device, error) {
			return []device{{"/dev/vda1", "vfat", "EFI"}, {"/dev/sr0", "iso9660", "cidata"}, {"/dev/sr1", "udf", ""}}, nil
		},
		read: func(d device, _ string) ([]byte, error) { return []byte(d.path), files[d.path] },
	}

	fetch := func() (string, error) {
		text, err := v.Fetch(t.Context(), cloud.Request{URL: "volume://*/ovf-env.xml"})

		return string(text), err
	}

	if got, err := fetch(); got != "/dev/sr1" || err != nil {
		t.Errorf("on the second CD: got %q, %v", got, err)
	}

	files["/dev/sr1"] = cloud.ErrNotFound

	if _, err := fetch(); err == nil || errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("before all devices have drivers: got error %v, want one that asks for another try", err)
	}

	close(settled)

	if got, err := fetch(); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("on no CD: got %q, %v, want %v", got, err, cloud.ErrNotFound)
	}

	files["/dev/sr1"] = broken

	if got, err := fetch(); !errors.Is(err, broken) {
		t.Errorf("on a CD that cannot be read: got %q, %v, want %v", got, err, broken)
	}
}

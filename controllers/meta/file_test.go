// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"path/filepath"
	"testing"

	"github.com/seed-59268b81/talos/controllers/meta"
	sysmeta "github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Without disks, META is a file, which is created at the first use and read at the next boot.
func TestFile(t *testing.T) {
	values := meta.New(platform.Platform{Mode: platform.Container})
	path := filepath.Join(t.TempDir(), "META")

	for boot, want := range []string{"", "A"} {
		device, err := values.Open(path)
		if err != nil {
			t.Fatal(err)
		}

		store, err := sysmeta.Open(device)
		if err != nil {
			t.Fatal(err)
		}

		if got, _ := store.Get(sysmeta.UserReserved1); string(got) != want {
			t.Errorf("boot %d: got %q, want %q", boot, got, want)
		}

		if err := store.Set(sysmeta.UserReserved1, []byte("A")); err != nil {
			t.Fatal(err)
		}
	}

	if meta.New(platform.Platform{}).Open != nil {
		t.Error("a machine with disks has META in a file")
	}

	if _, err := values.Open(filepath.Join(path, "below")); err == nil {
		t.Error("a file below a file was opened")
	}
}

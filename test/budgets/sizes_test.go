// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/image"
	"github.com/seed-59268b81/talos/test/cluster"
)

// size is the limit of the sum of some files, in bytes.
type size struct {
	name        string
	files       func(artifact.Paths) []string
	limit, goal int64
}

// sizes are those of a build; limit is that of the kernel and the initramfs, which holds the root image.
func sizes(limit int64) []size {
	return []size{
		{"kernel, initramfs and root image", func(p artifact.Paths) []string { return []string{p.Kernel(), p.Initramfs()} }, limit, image.Aim},
		{"the program of the system", func(p artifact.Paths) []string { return []string{p.Bin("talos")} }, 45e6, 30e6},
		{"the client, talosctl", func(p artifact.Paths) []string { return []string{p.Bin("talosctl")} }, 40e6, 40e6},
	}
}

func TestSizes(t *testing.T) {
	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	limit, err := image.Budget(built)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv(cluster.Require) == "" {
		t.Skipf("needs a built system: %v: run make build", err)
	}

	if err != nil {
		t.Fatal(err)
	}

	for _, s := range sizes(limit) {
		var total int64

		for _, file := range s.files(built) {
			info, err := os.Stat(file)
			if os.IsNotExist(err) && os.Getenv(cluster.Require) == "" {
				t.Skipf("needs a built system: %v: run make build", err)
			}

			if err != nil {
				t.Fatal(err)
			}

			total += info.Size()
		}

		report("%8.1f MB  of %2.0f MB, aim %2.0f MB  %s", float64(total)/1e6, float64(s.limit)/1e6, float64(s.goal)/1e6, s.name)

		if total > s.limit {
			t.Errorf("%s: got %d bytes, want at most %d", s.name, total, s.limit)
		}
	}
}

// report prints a line of a table.
func report(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func mib(n int) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// SPDX-License-Identifier: Apache-2.0

package flags_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/flags"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

// TestListsAreCurrent checks the checked-in lists against the programs' flag sets and types. It compiles a small program from the
// code of the real ones, which takes long unless those were built before.
func TestListsAreCurrent(t *testing.T) {
	if _, err := os.Stat(artifact.Of("../..").Component("kubelet")); err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("the programs are not built (%w): run make build", err))
	}

	if testing.Short() {
		t.Skip("links a program as large as a control plane")
	}

	const root = "../.."

	work := t.TempDir()

	for _, list := range []struct {
		file string
		make func(ctx context.Context, root, work string) ([]byte, error)
	}{
		{"controllers/k8s/flags/flags.txt", flags.List},
		{"controllers/k8s/schemas/types.txt", flags.Types},
	} {
		want, err := list.make(t.Context(), root, work)
		if err != nil {
			t.Fatal(err)
		}

		got, err := os.ReadFile(filepath.Join(root, list.file))
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not current: run go generate ./controllers/k8s/flags (-want +got):\n%s", list.file, diff)
		}
	}
}

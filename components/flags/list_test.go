// SPDX-License-Identifier: Apache-2.0

package flags_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/components/flags"
	"github.com/seed-59268b81/talos/components/hosttools/hosttest"
)

// TestListIsCurrent holds that the checked-in list is what the programs' own flag sets have. It compiles a small program of
// what the real ones are made of, which takes long unless these were built before.
func TestListIsCurrent(t *testing.T) {
	if _, err := os.Stat("../../out/components/bin/kubelet"); err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("the programs are not built (%w): run make build", err))
	}

	if testing.Short() {
		t.Skip("links a program of the size of a control plane")
	}

	want, err := flags.List(t.Context(), "../..")
	if err != nil {
		t.Fatal(err)
	}

	got, err := os.ReadFile("../../controllers/k8s/flags/flags.txt")
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("controllers/k8s/flags/flags.txt is not current: run go generate ./controllers/k8s/flags (-want +got):\n%s", diff)
	}
}

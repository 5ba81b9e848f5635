// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/api/wire"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/wire.txt; only for additions to the wire, never for changes")

// TestWireDoesNotDrift compares every name, number and type with the committed list.
func TestWireDoesNotDrift(t *testing.T) {
	const golden = "testdata/wire.txt"

	files, err := wire.Compile(t.Context(), os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}

	got := wire.Describe(files)

	if *rewrite {
		if err := os.WriteFile(golden, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	content, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}

	want := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the wire differs from %s (-want +got):\n%s", golden, diff)
	}
}

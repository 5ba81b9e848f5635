// SPDX-License-Identifier: Apache-2.0

package bolt_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/bolt"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
)

// TestTheSameAfterARestart sets the same specs again after the store was closed and opened: that is not a change.
func TestTheSameAfterARestart(t *testing.T) {
	if err := resource.Register[conformance.ItemSpec](); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(t.TempDir(), "db")
	spec := conformance.ItemSpec{Value: "v", Parts: []string{}, At: time.Now().In(time.FixedZone("somewhere", 3600))}

	for start := range 3 {
		st, err := bolt.Open(path)
		if err != nil {
			t.Fatal(err)
		}

		if err := typed.Set(t.Context(), st, "", "a", spec); err != nil {
			t.Fatal(err)
		}

		r, err := typed.Get[conformance.ItemSpec](t.Context(), st, "", "a")
		if err != nil {
			t.Fatal(err)
		}

		if v := r.Metadata().Version(); v != 1 {
			t.Errorf("start %d: the same Set stored version %d", start, v)
		}

		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/cluster"
)

func examplePast() past {
	second := example()
	second.NodeID, second.Nodename, second.Revision, second.KubeSpan = "two", "worker-1", 9, nil
	first := example()
	first.KubeSpan = nil

	return past{ClusterID: "cluster", Revision: 5, Announced: "digest", others: []cluster.AffiliateSpec{first, second}}
}

func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), membersFile)

	if m, damaged, err := load(path); err != nil || damaged != 0 || len(m.others) != 0 {
		t.Fatalf("no file: got %+v, %d damaged, %v", m, damaged, err)
	}

	want := examplePast()

	content, err := want.encode()
	if err != nil {
		t.Fatal(err)
	}

	if err := store(path, content); err != nil {
		t.Fatal(err)
	}

	got, damaged, err := load(path)
	if err != nil || damaged != 0 {
		t.Fatalf("got %d damaged, %v", damaged, err)
	}

	if diff := cmp.Diff(want, got, cmp.AllowUnexported(past{}), compareAddresses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The order in which members are known does not change the file.
	want.others[0], want.others[1] = want.others[1], want.others[0]

	if again, err := want.encode(); err != nil || !bytes.Equal(content, again) {
		t.Errorf("another order: got\n%s, %v, want\n%s", again, err, content)
	}
}

// TestStoreDamaged: each byte that is damaged costs one line, and no other.
func TestStoreDamaged(t *testing.T) {
	content, err := examplePast().encode()
	if err != nil {
		t.Fatal(err)
	}

	for i := range content {
		if content[i] == '\n' {
			continue // two lines become one
		}

		harmed := bytes.Clone(content)
		harmed[i] ^= 1

		if harmed[i] == '\n' {
			continue
		}

		m, damaged := decodePast(harmed)
		line := bytes.Count(content[:i], []byte("\n"))

		if whole := len(m.others) + min(len(m.ClusterID), 1); damaged != 1 || whole != 2 || line == 0 && len(m.others) != 2 {
			t.Fatalf("byte %d of line %d: got %d damaged, %+v", i, line, damaged, m)
		}
	}

	for i := range content { // a file that ends early
		if m, _ := decodePast(content[:i]); len(m.others) > bytes.Count(content[:i], []byte("\n")) {
			t.Fatalf("the first %d bytes: got %d members", i, len(m.others))
		}
	}
}

func FuzzDecodePast(f *testing.F) {
	content, err := examplePast().encode()
	if err != nil {
		f.Fatal(err)
	}

	f.Add(content)
	f.Add([]byte("00000000 null\n\n"))

	f.Fuzz(func(t *testing.T, content []byte) {
		m, _ := decodePast(content)

		text, err := m.encode()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}

		if again, damaged := decodePast(text); damaged != 0 || len(again.others) != len(m.others) {
			t.Errorf("written and read again: got %d members, %d damaged, want %d", len(again.others), damaged, len(m.others))
		}
	})
}

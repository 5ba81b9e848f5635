// SPDX-License-Identifier: Apache-2.0

//go:build linux

package block

import (
	"math/rand/v2"
	"testing"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/blkid"
	"github.com/seed-59268b81/talos/test/replay"
)

// TestFormatReplay records how a file system is made. Whenever the power is cut, the partition has a whole one with its label, or is formatted
// again.
func TestFormatReplay(t *testing.T) {
	hosttest.Need(t, "mkfs.xfs")

	const size = 100 << 20

	r := replay.Record(t, size)
	path, closed := r.Device(0, size)

	if err := format(t.Context(), path, block.FilesystemSpec{Type: block.FilesystemTypeXFS, Label: "STATE"}); err != nil {
		t.Fatal(err)
	}

	closed()

	recording := r.Recording()
	t.Logf("%d writes and flushes, %d flushes", len(recording.Log.Entries), recording.Log.Flushes())

	mounter, made, blank := replay.NewMounter(t), 0, 0

	for s := range recording.States(rand.New(rand.NewPCG(14, 3)), 0, len(recording.Log.Entries)+1, 300) {
		info, err := blkid.Probe(s, size, 512)
		if err != nil {
			t.Fatal(err)
		}

		if info.Name == "" {
			if is, err := blkid.Unformatted(s, size); err != nil || !is {
				t.Fatalf("%s: there is neither a file system nor what mkfs leaves: %v", s, err)
			}

			blank++

			continue
		}

		if _, err := mounter.Files(s.Part(0, size)); err != nil || info.Name != blkid.XFS || info.Label != "STATE" {
			t.Fatalf("%s: got %+v, %v", s, info, err)
		}

		made++
	}

	t.Logf("%d states have the file system, and %d are formatted again; %d were mounted", made, blank, mounter.Mounted())

	if made == 0 || blank == 0 {
		t.Error("there must be both")
	}
}

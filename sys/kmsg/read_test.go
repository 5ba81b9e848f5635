// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kmsg_test

import (
	"context"
	"os"
	"testing"

	"github.com/seed-59268b81/talos/sys/kmsg"
)

// TestRead reads the log of the running kernel: all records and no more; with follow, until the context ends.
func TestRead(t *testing.T) {
	f, err := os.Open(kmsg.Path)
	if err != nil {
		t.Skipf("the kernel's log is not for this user: %v", err)
	}

	f.Close()

	last, count := uint64(0), 0

	err = kmsg.Read(t.Context(), false, func(m kmsg.Message) error {
		if count++; count > 1 && m.Sequence <= last {
			t.Errorf("record %d comes after %d", m.Sequence, last)
		}

		last = m.Sequence

		return nil
	})
	if err != nil || count == 0 {
		t.Fatalf("got %d records, %v", count, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	followed := 0

	// All records come first; then the reader waits until the context ends.
	err = kmsg.Read(ctx, true, func(m kmsg.Message) error {
		if followed++; m.Sequence >= last {
			cancel()
		}

		return nil
	})
	if err != nil || followed == 0 {
		t.Errorf("followed: got %d records, %v", followed, err)
	}
}

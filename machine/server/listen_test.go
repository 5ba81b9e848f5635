// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"
	"path/filepath"
	"testing"
)

// TestListenPrivately checks the mode of a socket before anything changes it: another user could connect before that.
func TestListenPrivately(t *testing.T) {
	path := filepath.Join(t.TempDir(), "private.sock")

	l, err := listenPrivately(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}

	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("got a socket with the mode %v, want %v", got, os.FileMode(0o600))
	}
}

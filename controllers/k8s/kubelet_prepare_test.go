// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
	"os"
	"path/filepath"
	"testing"
)

// TestForgetSubnet: flannel's file stays while the machine is registered under the same name, such as when the cluster's authority changes.
func TestForgetSubnet(t *testing.T) {
	for _, tt := range []struct {
		former, nodename string
		stays            bool
	}{{"", "a", true}, {"a", "a", true}, {"a", "b", false}} {
		root := t.TempDir()
		file := filepath.Join(root, "run/flannel/subnet.env")

		if err := forgetSubnet(root, tt.former, tt.nodename); err != nil {
			t.Error(err) // without a file there is nothing to do
		}

		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(file, []byte("FLANNEL_SUBNET=10.244.0.1/24\n"), 0o644); err != nil {
			t.Fatal(err)
		}

		if err := forgetSubnet(root, tt.former, tt.nodename); err != nil {
			t.Error(err)
		}

		if got := exists(file); got != tt.stays {
			t.Errorf("from %q to %q: the file is there: %t, want %t", tt.former, tt.nodename, got, tt.stays)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package nstest

import (
	"net"
	"os"
	"testing"
)

func TestIsolate(t *testing.T) {
	outside, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Skip(err)
	}

	if os.Getenv(inside) == "" {
		t.Setenv("TALOS_TEST_OUTSIDE", outside)
	}

	if !Isolate(t) {
		return
	}

	if outside == os.Getenv("TALOS_TEST_OUTSIDE") {
		t.Error("the network namespace is that of the machine")
	}

	links, err := net.Interfaces()
	if err != nil || len(links) != 1 {
		t.Errorf("got links %v, %v, want only the loopback", links, err)
	}
}

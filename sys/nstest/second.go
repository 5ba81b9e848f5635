// SPDX-License-Identifier: Apache-2.0

package nstest

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/jsimonetti/rtnetlink/v2"
	"golang.org/x/sys/unix"
)

// Network is a second network namespace, for a peer. Sockets opened inside Do stay in it and may be used from anywhere.
type Network struct {
	t    *testing.T
	file *os.File
	work chan func()
}

// NewNetwork creates a network namespace. The test must be isolated.
func NewNetwork(t *testing.T) *Network {
	t.Helper()

	n := &Network{t: t, work: make(chan func())}
	ready := make(chan error)

	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine

		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			n.file, err = os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		}

		ready <- err

		for fn := range n.work {
			fn()
		}
	}()

	if err := <-ready; err != nil {
		t.Skipf("no second network namespace: %v", err)
	}

	t.Cleanup(func() {
		close(n.work)

		_ = n.file.Close()
	})

	return n
}

// Do runs fn on a thread in the network.
func (n *Network) Do(fn func()) {
	done := make(chan struct{})
	n.work <- func() {
		defer close(done)

		fn()
	}
	<-done
}

// Take moves a link from the caller's network into this one.
func (n *Network) Take(index uint32) {
	n.t.Helper()

	c, err := rtnetlink.Dial(nil)
	if err != nil {
		n.t.Fatal(err)
	}
	defer c.Close()

	if err := c.Link.Set(&rtnetlink.LinkMessage{
		Index: index, Attributes: &rtnetlink.LinkAttributes{NetNS: rtnetlink.NetNSForFD(uint32(n.file.Fd()))},
	}); err != nil {
		n.t.Fatal(err)
	}
}

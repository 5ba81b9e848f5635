// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apid

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// deaf returns an address that does not answer, like that of a machine that is off: the queue of a listener that never accepts is
// full.
func deaf(t *testing.T) string {
	t.Helper()

	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { syscall.Close(fd) })

	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(os.NewSyscallError("bind", err))
	}

	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(os.NewSyscallError("listen", err))
	}

	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(os.NewSyscallError("getsockname", err))
	}

	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port) // as it was bound

	for {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)

		cancel()

		if err != nil {
			return address
		}

		t.Cleanup(func() { conn.Close() })
	}
}

// TestNodeIsOff: a call to a machine that is off fails with the reason after the timeout of the connection attempt. Calls to other
// nodes are not delayed.
func TestNodeIsOff(t *testing.T) {
	ca := newCA(t)
	a, b := startNode(t, "a", view(t, ca)), startNode(t, "b", view(t, ca))

	addresses.Store("off", deaf(t))

	client := dial(t, a, ca, clientCert(t, ca, "os:admin"))
	began := time.Now()
	answered := make(chan error, 1)

	go func() {
		_, err := client.Version(with(t.Context(), "node", "off"), &emptypb.Empty{})
		answered <- err
	}()

	got := tag(client.Version(with(t.Context(), "node", b.name), &emptypb.Empty{}))

	select {
	case err := <-answered:
		t.Fatalf("the call to the node that is off ended before that to another: %v, and %s", err, got)
	default:
	}

	if got != "b" {
		t.Errorf("another node: got %s, want b", got)
	}

	err := <-answered

	if want := "node off: connect: dial tcp "; status.Code(err) != codes.Unavailable || !strings.HasPrefix(status.Convert(err).Message(), want) ||
		!strings.Contains(err.Error(), "i/o timeout; check that the machine is on") {
		t.Errorf("got %v, want %s… i/o timeout, and what to check", err, want)
	}

	// The kernel would try for two minutes.
	if took := time.Since(began); took < dialTimeout/2 || took > time.Minute {
		t.Errorf("it took %s, want about %s", took, dialTimeout)
	}

	// A second call fails at once.
	again := time.Now()

	if _, err := client.Version(with(t.Context(), "node", "off"), &emptypb.Empty{}); status.Code(err) != codes.Unavailable || time.Since(again) >= dialTimeout {
		t.Errorf("again: got %v after %s, want the error at once", err, time.Since(again))
	}
}

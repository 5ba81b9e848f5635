// SPDX-License-Identifier: Apache-2.0

//go:build linux

package netlinkgroup

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOnlyTheKernel makes a process send messages to the group and to the socket, and then the kernel one of its own.
func TestOnlyTheKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to send to a group of the kernel")
	}

	for name, protocol := range map[string]int{
		"uevent": unix.NETLINK_KOBJECT_UEVENT, "generic": unix.NETLINK_GENERIC, "route": unix.NETLINK_ROUTE,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()

			// The length of a message, its type, its flags, its number and its sender, which only the text does not fit.
			forged := append([]byte{22, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "forged"...)
			sent := 0

			err := Listener{
				Protocol: protocol, Groups: []uint32{1}, Started: func() { sent = send(t, protocol, forged) },
				Message: func(b []byte) {
					if bytes.Contains(b, []byte("forged")) {
						t.Errorf("a message of a process was taken for the kernel's: %q", b)
					}
				},
			}.Listen(ctx)
			if err != nil {
				t.Fatal(err)
			}

			if sent == 0 {
				t.Fatal("no message could be sent, so this test shows nothing")
			}
		})
	}

	for from, want := range map[unix.Sockaddr]bool{
		&unix.SockaddrNetlink{}: true, &unix.SockaddrNetlink{Pid: 1}: false, &unix.SockaddrUnix{}: false,
	} {
		if got := isKernel(from); got != want {
			t.Errorf("%+v: got %t, want %t", from, got, want)
		}
	}
}

// send sends a message to the first group, and to the first socket of this process, whose port is the process's id. It returns how many could
// be sent.
func send(t *testing.T, protocol int, message []byte) (sent int) {
	t.Helper()

	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)

	for _, to := range []*unix.SockaddrNetlink{{Family: unix.AF_NETLINK, Groups: 1}, {Family: unix.AF_NETLINK, Pid: uint32(os.Getpid())}} {
		if err := unix.Sendto(fd, message, 0, to); err == nil {
			sent++
		}
	}

	return sent
}

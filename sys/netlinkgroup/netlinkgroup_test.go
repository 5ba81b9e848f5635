// SPDX-License-Identifier: Apache-2.0

//go:build linux

package netlinkgroup

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
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

// message returns a message of a type whose header says that it has a length.
func message(length uint32, kind uint16, data string) []byte {
	b := binary.NativeEndian.AppendUint32(nil, length)
	b = binary.NativeEndian.AppendUint16(b, kind)

	return append(append(b, make([]byte, 10)...), data...)
}

func TestMessages(t *testing.T) {
	whole := slices.Concat(message(20, 1, "abcd"), message(18, 2, "ab\x00\x00"), message(16, 3, ""))

	for _, c := range []struct {
		name  string
		bytes []byte
		want  []netlink.HeaderType
	}{
		{"three", whole, []netlink.HeaderType{1, 2, 3}},
		{"one and a half", whole[:30], []netlink.HeaderType{1}},
		{"a length beyond the end", message(100, 1, "abcd"), nil},
		{"a length of all bits", message(1<<32-1, 1, "abcd"), nil},
		{"a length of zero", message(0, 1, "abcd"), nil},
		{"a header that is cut", whole[:15], nil},
		{"nothing", nil, nil},
	} {
		var got []netlink.HeaderType
		for m := range Messages(c.bytes) {
			got = append(got, m.Header.Type)
		}

		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(slices.Concat(message(20, 1, "abcd"), message(18, 2, "ab\x00\x00")))
	f.Fuzz(func(t *testing.T, b []byte) {
		size := 0
		for m := range Messages(b) {
			size += unix.NLMSG_HDRLEN + len(m.Data)
		}

		if size > len(b) {
			t.Errorf("%d bytes in messages of %d", size, len(b))
		}
	})
}

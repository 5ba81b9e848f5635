// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package netlinkgroup receives the messages that the kernel sends to groups of netlink (netlink(7)). A process with CAP_NET_ADMIN in the
// network namespace, such as a pod on the host's network, may send to the same groups and sockets, for example that the power button was
// pressed. Its messages are ignored.
package netlinkgroup

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/mdlayher/netlink"
	"github.com/mdlayher/socket"
	"golang.org/x/sys/unix"
)

// maxMessage is the size of the largest message in bytes; a larger one counts as lost.
const maxMessage = 64 << 10

// Listener says what is received.
type Listener struct {
	// Protocol is that of the socket, such as unix.NETLINK_ROUTE, and Groups are numbers of its groups, from 1 on.
	Protocol int
	Groups   []uint32
	// Buffer is the size of the socket's buffer in bytes; the kernel's default when it is 0 or cannot be set.
	Buffer int
	// Started is called when the socket listens, so that what is read after that is not older than the first message.
	Started func()
	// Lost is called when messages were lost, because the buffer was full.
	Lost func()
	// Message is called for each message. It must not keep the bytes.
	Message func([]byte)
}

// Listen calls the functions until the context ends, in one goroutine.
func (l Listener) Listen(ctx context.Context) error {
	conn, err := socket.Socket(unix.AF_NETLINK, unix.SOCK_RAW, l.Protocol, "netlink", nil)
	if err != nil {
		return err
	}
	defer conn.Close()

	if err := conn.Bind(&unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}

	for _, g := range l.Groups {
		if err := conn.SetsockoptInt(unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, int(g)); err != nil {
			return fmt.Errorf("join group %d: %w", g, err)
		}
	}

	if l.Buffer > 0 {
		_ = conn.SetReadBuffer(l.Buffer) // otherwise messages are lost sooner, which is reported
	}

	if l.Started != nil {
		l.Started()
	}

	// A read with the context would start a goroutine for each message.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	buf := make([]byte, maxMessage)

	for {
		// With MSG_TRUNC, n is the size of a message that is too large.
		n, from, err := conn.Recvfrom(context.Background(), buf, unix.MSG_TRUNC)

		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENOBUFS), err == nil && n > len(buf) && isKernel(from):
			if l.Lost != nil {
				l.Lost()
			}
		case err != nil:
			return fmt.Errorf("read: %w", err)
		case isKernel(from):
			l.Message(buf[:n])
		}
	}
}

// isKernel reports whether the kernel sent a message: it has port 0.
func isKernel(from unix.Sockaddr) bool {
	address, ok := from.(*unix.SockaddrNetlink)

	return ok && address.Pid == 0
}

// Messages returns the messages that one call of Listener.Message has, for protocols whose messages have netlink's header. It ends at one that
// is not whole.
func Messages(b []byte) iter.Seq[netlink.Message] {
	return func(yield func(netlink.Message) bool) {
		for len(b) >= unix.NLMSG_HDRLEN {
			length := (uint64(binary.NativeEndian.Uint32(b)) + unix.NLMSG_ALIGNTO - 1) / unix.NLMSG_ALIGNTO * unix.NLMSG_ALIGNTO
			if length < unix.NLMSG_HDRLEN || length > uint64(len(b)) {
				return
			}

			var m netlink.Message
			if err := m.UnmarshalBinary(b[:length]); err != nil || !yield(m) {
				return
			}

			b = b[length:]
		}
	}
}

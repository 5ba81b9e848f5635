// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pcap

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/mdlayher/socket"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	// flushAfter is how long a packet waits for more before it is sent.
	flushAfter = 100 * time.Millisecond
	// flushAt is how many bytes are sent at once.
	flushAt = 32 << 10
	// kernelBuffer is the size in bytes of the kernel's buffer; when it is full, the kernel drops packets.
	kernelBuffer = 4 << 20
)

// Capture describes a capture.
type Capture struct {
	Link        string
	Promiscuous bool
	// SnapLen in bytes; zero is DefaultSnapLen.
	SnapLen uint32
	// Filter is classic BPF; empty captures every packet.
	Filter []bpf.RawInstruction
}

// ErrInvalid is the error of a capture that the kernel cannot run.
var ErrInvalid = errors.New("the capture is not valid")

// Run captures until the context ends, which is not an error, and passes the file to send in parts. While send blocks, packets may be
// lost.
func (c Capture) Run(ctx context.Context, send func([]byte) error) error {
	if c.SnapLen == 0 {
		c.SnapLen = DefaultSnapLen
	}

	if c.SnapLen > MaxSnapLen {
		return fmt.Errorf("%w: snap length %d: want at most %d bytes", ErrInvalid, c.SnapLen, MaxSnapLen)
	}

	link, err := net.InterfaceByName(c.Link)
	if err != nil {
		return fmt.Errorf("%w: link %q: %w", ErrInvalid, c.Link, err)
	}

	conn, err := c.open(link)
	if err != nil {
		return fmt.Errorf("capture on %s: %w", c.Link, err)
	}
	defer conn.Close()

	kind, err := linkType(conn, link)
	if err != nil {
		return fmt.Errorf("capture on %s: %w", c.Link, err)
	}

	if err := c.copy(ctx, conn, link, Header(kind, c.SnapLen), send); err != nil {
		return fmt.Errorf("capture on %s: %w", c.Link, err)
	}

	return nil
}

// open returns a socket that receives the packets of the link, and none from before the filter was set.
func (c Capture) open(link *net.Interface) (*socket.Conn, error) {
	conn, err := socket.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0, "capture", nil)
	if err != nil {
		return nil, err
	}

	ok := false

	defer func() {
		if !ok {
			conn.Close()
		}
	}()

	if len(c.Filter) > 0 {
		if err := conn.SetBPF(c.Filter); err != nil {
			return nil, fmt.Errorf("%w: the kernel refuses the filter: %w", ErrInvalid, err)
		}
	}

	if err := conn.SetReadBuffer(kernelBuffer); err != nil {
		return nil, err
	}

	if c.Promiscuous {
		request := &unix.PacketMreq{Ifindex: int32(link.Index), Type: unix.PACKET_MR_PROMISC}
		if err := conn.SetsockoptPacketMreq(unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, request); err != nil {
			return nil, fmt.Errorf("set promiscuous mode: %w", err)
		}
	}

	if err := conn.Bind(&unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: link.Index}); err != nil {
		return nil, err
	}

	ok = true

	return conn, nil
}

func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// linkType returns the type of the link that the socket is bound to.
func linkType(conn *socket.Conn, link *net.Interface) (LinkType, error) {
	name, err := conn.Getsockname()
	if err != nil {
		return 0, err
	}

	address, ok := name.(*unix.SockaddrLinklayer)
	if !ok {
		return 0, fmt.Errorf("the socket is bound to an address of type %T", name)
	}

	switch address.Hatype {
	case unix.ARPHRD_ETHER, unix.ARPHRD_LOOPBACK:
		return Ethernet, nil
	case unix.ARPHRD_NONE, unix.ARPHRD_RAWIP, unix.ARPHRD_PPP, unix.ARPHRD_TUNNEL, unix.ARPHRD_TUNNEL6, unix.ARPHRD_SIT, unix.ARPHRD_IPGRE:
		return Raw, nil
	default:
		return 0, fmt.Errorf("%w: link %s has hardware type %d: want Ethernet or IP", ErrInvalid, link.Name, address.Hatype)
	}
}

func (c Capture) copy(ctx context.Context, conn *socket.Conn, link *net.Interface, file []byte, send func([]byte) error) error {
	// The client learns at once that the capture runs.
	if err := send(file); err != nil {
		return err
	}

	stop := context.AfterFunc(ctx, func() {
		conn.SetReadDeadline(time.Unix(1, 0)) // it cannot fail on an open socket
	})
	defer stop()

	packet := make([]byte, c.SnapLen)

	var (
		out  []byte
		full time.Time // when out must be sent
	)

	for {
		n, _, err := conn.Recvfrom(context.Background(), packet, unix.MSG_TRUNC)
		timeout := errors.Is(err, os.ErrDeadlineExceeded)

		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENETDOWN):
			// A link that went down may come up again.
			if _, err := net.InterfaceByIndex(link.Index); err != nil {
				return fmt.Errorf("the link was removed: %w", err)
			}
		case err != nil && !timeout:
			return err
		case err == nil:
			if len(out) == 0 {
				full = time.Now().Add(flushAfter)
			}

			out = Append(out, time.Now(), packet[:min(n, len(packet))], n)
		}

		if len(out) >= flushAt || len(out) > 0 && (timeout || time.Now().After(full)) {
			if err := send(out); err != nil {
				return err
			}

			out, full = nil, time.Time{}
		}

		if err := conn.SetReadDeadline(full); err != nil {
			return err
		}

		// The context may have ended between its deadline and this one.
		if ctx.Err() != nil {
			return nil
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package netstat reads the kernel's tables of sockets, such as /proc/net/tcp, and which process holds each socket.
//
// Netlink (sock_diag) would be faster for very many sockets. The files have all that users know from netstat(8), with timers and
// reference counts, for every family, and can be recorded for a test.
package netstat

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"strconv"
	"strings"
)

// Protocols have a table each, in the file of that name.
var Protocols = []string{"tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6"}

// The states of a socket that are used here; the numbers are the kernel's. A socket without connections, such as one of UDP, is
// closed.
const (
	Established = 1
	Listen      = 10
)

// Socket is one line of a table.
type Socket struct {
	Local, Remote netip.AddrPort
	State         uint8
	// TxQueue and RxQueue are in bytes; for a listening socket RxQueue is the number of pending connections.
	TxQueue, RxQueue uint32
	// Timer is 0 for none, 1 retransmission, 2 keepalive, 3 time wait, 4 window probe.
	Timer uint8
	// TimerWhen is when the timer expires, in the kernel's ticks.
	TimerWhen, Retransmits uint64
	UID                    uint32
	Timeout, Inode         uint64
	References             uint64
	// Pointer is the address of the socket in the kernel; zero if the kernel hides it.
	Pointer uint64
}

// HasPeer reports whether the socket is connected.
func (s Socket) HasPeer() bool { return s.Remote.Port() != 0 || !s.Remote.Addr().IsUnspecified() }

// ReadFile calls fn for each socket of one table. net is the folder /proc/net of a network namespace; a protocol that
// the kernel lacks has no sockets.
func ReadFile(net fs.FS, protocol string, fn func(Socket) error) error {
	f, err := net.Open(protocol)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return fmt.Errorf("sockets of %s: %w", protocol, err)
	}
	defer f.Close()

	if err := Read(f, fn); err != nil {
		return fmt.Errorf("sockets of %s: %w", protocol, err)
	}

	return nil
}

// Read calls fn for each line but the first.
func Read(r io.Reader, fn func(Socket) error) error {
	lines := bufio.NewScanner(r)

	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			continue
		}

		s, err := Parse(lines.Text())
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}

		if err := fn(s); err != nil {
			return err
		}
	}

	return lines.Err()
}

// A line is: number: local remote state tx:rx timer:when retransmits uid timeout inode references pointer, and more.
const fields = 12

// Parse reads a line of a table.
func Parse(line string) (Socket, error) {
	f := strings.Fields(line)
	if len(f) < fields {
		return Socket{}, fmt.Errorf("got %d fields, want at least %d: %.100q", len(f), fields, line)
	}

	tx, rx, ok1 := strings.Cut(f[4], ":")
	timer, when, ok2 := strings.Cut(f[5], ":")

	if !ok1 || !ok2 {
		return Socket{}, fmt.Errorf("queues %.40q and timer %.40q: want a colon in each", f[4], f[5])
	}

	var (
		s    Socket
		errs [12]error
	)

	s.Local, errs[0] = parseAddress(f[1])
	s.Remote, errs[1] = parseAddress(f[2])
	s.State, errs[2] = number[uint8](f[3], 16, 8)
	s.TxQueue, errs[3] = number[uint32](tx, 16, 32)
	s.RxQueue, errs[4] = number[uint32](rx, 16, 32)
	s.Timer, errs[5] = number[uint8](timer, 16, 8)
	s.TimerWhen, errs[6] = number[uint64](when, 16, 64)
	s.Retransmits, errs[7] = number[uint64](f[6], 16, 64)
	s.UID, errs[8] = number[uint32](f[7], 10, 32)
	s.Inode, errs[9] = number[uint64](f[9], 10, 64)
	s.References, errs[10] = number[uint64](f[10], 10, 64)
	s.Pointer, errs[11] = number[uint64](f[11], 16, 64)

	// The kernel prints it with a sign; a negative value has no meaning.
	s.Timeout, _ = number[uint64](f[8], 10, 64)

	return s, errors.Join(errs[:]...)
}

func number[N uint8 | uint32 | uint64](s string, base, bits int) (N, error) {
	n, err := strconv.ParseUint(s, base, bits)

	return N(n), err
}

// parseAddress reads ADDRESS:PORT in hexadecimal. An address is one or four 32-bit words in native byte order.
func parseAddress(s string) (netip.AddrPort, error) {
	address, port, _ := strings.Cut(s, ":")

	raw, err := hex.DecodeString(address)
	if err != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, fmt.Errorf("address %.60q: want 8 or 32 hexadecimal digits and a port", s)
	}

	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}

	p, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("port of %.60q: %w", s, err)
	}

	addr, _ := netip.AddrFromSlice(raw)

	return netip.AddrPortFrom(addr, uint16(p)), nil
}

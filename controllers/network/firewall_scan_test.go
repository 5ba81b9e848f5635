// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// connect begins to connect from an address of the neighbour to a port of the machine, and returns the socket.
func connect(from, to string, port int) (int, error) {
	source, target := addr(from), netip.AddrPortFrom(addr(to), uint16(port))
	family := unix.AF_INET

	var local, remote unix.Sockaddr = &unix.SockaddrInet4{}, &unix.SockaddrInet4{Port: port}

	if target.Addr().Is4() {
		local, remote = &unix.SockaddrInet4{Addr: source.As4()}, &unix.SockaddrInet4{Port: port, Addr: target.Addr().As4()}
	} else {
		family = unix.AF_INET6
		local, remote = &unix.SockaddrInet6{Addr: source.As16()}, &unix.SockaddrInet6{Port: port, Addr: target.Addr().As16()}
	}

	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}

	if err := unix.Bind(fd, local); err != nil {
		unix.Close(fd)

		return -1, err
	}

	if err := unix.Connect(fd, remote); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		unix.Close(fd)

		return -1, err
	}

	return fd, nil
}

// answered reports whether a connection was accepted or refused within a time: then no firewall dropped its packets.
func answered(fd int, within time.Duration) bool {
	return ready(fd, unix.POLLOUT, within)
}

// ready waits until a socket is readable or writable. A signal may interrupt the system call.
func ready(fd int, events int16, within time.Duration) bool {
	for deadline := time.Now().Add(within); ; {
		fds := []unix.PollFd{{Fd: int32(fd), Events: events}}

		n, err := unix.Poll(fds, max(0, int(time.Until(deadline).Milliseconds())))
		if !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

// scan returns the ports of the machine that answer.
func (n neighbour) scan(from, to string, ports ...int) string {
	sockets := map[int]int{}

	n.Do(func() {
		for _, p := range ports {
			if fd, err := connect(from, to, p); err == nil {
				sockets[p] = fd
			} else if errors.Is(err, unix.ECONNREFUSED) {
				sockets[p] = -1
			}
		}
	})

	time.Sleep(300 * time.Millisecond)

	var open []string

	for _, p := range slices.Sorted(maps.Keys(sockets)) {
		if fd := sockets[p]; fd < 0 || answered(fd, 0) {
			open = append(open, fmt.Sprint(p))
		}

		if sockets[p] >= 0 {
			unix.Close(sockets[p])
		}
	}

	return strings.Join(open, " ")
}

func listen(t *testing.T, network, address string) net.Listener {
	t.Helper()

	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { l.Close() })

	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}

			go func() {
				_, _ = io.Copy(c, c)
				c.Close()
			}()
		}
	}()

	return l
}

// echo1 sends a text on a connection, and returns what is sent back.
func echo1(fd int, text string) string {
	if _, err := unix.Write(fd, []byte(text)); err != nil {
		return err.Error()
	}

	if !ready(fd, unix.POLLIN, 10*time.Second) {
		return "timeout"
	}

	b := make([]byte, len(text))
	read, err := unix.Read(fd, b)

	if err != nil {
		return err.Error()
	}

	return string(b[:read])
}

// redirect does what kube-proxy does for a node port, in a table of its own.
func redirect(t *testing.T, from, to uint16) {
	t.Helper()

	c, err := nftables.New()
	if err != nil {
		t.Fatal(err)
	}

	table := c.AddTable(&nftables.Table{Name: "proxy", Family: nftables.TableFamilyIPv4})
	chain := c.AddChain(&nftables.Chain{
		Name: "nat", Table: table, Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityNATDest,
	})
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(from)},
		&expr.Immediate{Register: 1, Data: binaryutil.BigEndian.PutUint16(to)},
		&expr.Redir{RegisterProtoMin: 1},
	}})

	if err := c.Flush(); err != nil {
		t.Skipf("no redirection in this kernel: %v", err)
	}
}

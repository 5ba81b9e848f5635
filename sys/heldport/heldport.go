// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package heldport holds a TCP port of the loopback while process 1 runs, whether or not there is a listener.
//
// A pod on the host's network can bind any free port, even as an unprivileged user, and answer instead of the service that owns the
// port, KubePrism's. So the port is bound before any pod runs and is never
// released; only the listener is closed and opened. Without a listener the kernel refuses connections, which clients handle best.
//
// A process of user 0 can share the port. A service whose clients believe any program that answers, such as the image cache, listens all the time
// instead.
//
// Rejected: SO_REUSEADDR, which lets any user share a bound port that has no listener; a socket without options, which cannot listen
// again while earlier connections exist; a firewall rule, which does not prevent the owner from losing the port.
package heldport

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// backlog is the number of connections that wait to be accepted, as in net; the kernel lowers it to net.core.somaxconn.
const backlog = 4096

// Port is a held port.
type Port struct {
	address string
	socket  *os.File
}

// Hold binds an IPv4 address. The kernel refuses connections until Listen.
func Hold(ctx context.Context, address string) (*Port, error) {
	addr, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("hold %s: %w", address, err)
	}

	if addr.Port == 0 {
		return nil, fmt.Errorf("hold %s: port 0 cannot be held: give a number", address)
	}

	socket, err := bind(addr)
	if err != nil {
		return nil, fmt.Errorf("hold %s: %w", address, err)
	}

	if ctx.Err() != nil {
		socket.Close()

		return nil, ctx.Err()
	}

	return &Port{address: address, socket: socket}, nil
}

func bind(addr *net.TCPAddr) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}

	// Earlier connections must not prevent the bind. With this option the kernel lets sockets of the same user share the port, and no
	// other user's.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		unix.Close(fd)

		return nil, os.NewSyscallError("setsockopt", err)
	}

	sockaddr := &unix.SockaddrInet4{Port: addr.Port}
	copy(sockaddr.Addr[:], addr.IP.To4())

	if err := unix.Bind(fd, sockaddr); err != nil {
		unix.Close(fd)

		return nil, os.NewSyscallError("bind", err)
	}

	return os.NewFile(uintptr(fd), "held port "+addr.String()), nil
}

// Listen accepts connections until the listener is closed; connections that are not accepted by then are reset. The port stays held.
// There is one listener at a time.
func (p *Port) Listen() (net.Listener, error) {
	var err error

	if cause := p.control(func(fd int) { err = os.NewSyscallError("listen", unix.Listen(fd, backlog)) }); cause != nil {
		err = cause
	}

	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", p.address, err)
	}

	l, err := net.FileListener(p.socket)
	if err != nil {
		p.refuse()

		return nil, fmt.Errorf("listen on %s: %w", p.address, err)
	}

	return &listener{Listener: l, port: p}, nil
}

// Close releases the port.
func (p *Port) Close() error { return p.socket.Close() }

// refuse makes the kernel refuse connections. The socket stays bound until it is closed.
func (p *Port) refuse() {
	p.control(func(fd int) { _ = unix.Shutdown(fd, unix.SHUT_RD) })
}

func (p *Port) control(do func(fd int)) error {
	raw, err := p.socket.SyscallConn()
	if err != nil {
		return err
	}

	return raw.Control(func(fd uintptr) { do(int(fd)) })
}

type listener struct {
	net.Listener

	port *Port
	once sync.Once
	err  error
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.port.refuse()
		l.err = l.Listener.Close()
	})

	return l.err
}

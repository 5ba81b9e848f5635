// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package heldport holds a TCP port of the loopback for as long as process 1 runs, whether or not anybody listens on it.
//
// A pod on the host's network may bind each port that is free, also as an unprivileged user, and then answers in the place of the
// service that the port belongs to: the image cache, which says what an image is, or KubePrism. So the port is bound before any pod runs and is
// never given up; what comes and goes is the listener. Without one the kernel refuses connections, which clients handle best.
//
// What was rejected: SO_REUSEADDR, which lets any user share a bound port on which nobody listens; a socket without options, which
// cannot listen again while connections of before exist; a firewall rule, which does not keep the owner from losing the port.
package heldport

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// backlog of connections that wait to be accepted, as net has it; the kernel lowers it to net.core.somaxconn.
const backlog = 4096

// Port is a port that is held.
type Port struct {
	address string
	socket  *os.File
}

// Hold binds an address of IPv4. Connections to it are refused until Listen.
func Hold(ctx context.Context, address string) (*Port, error) {
	addr, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("hold %s: %w", address, err)
	}

	if addr.Port == 0 {
		return nil, fmt.Errorf("hold %s: a port that the kernel chooses is lost with its listener", address)
	}

	socket, err := bind(addr)
	if err != nil {
		return nil, fmt.Errorf("hold %s: %w", address, err)
	}

	if ctx.Err() != nil {
		socket.Close() // nobody holds it yet

		return nil, ctx.Err()
	}

	return &Port{address: address, socket: socket}, nil
}

func bind(addr *net.TCPAddr) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}

	// What is left of connections of before does not count as somebody else. The kernel lets sockets of the same user alone share
	// the port by this, and none of another user.
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

// Listen accepts connections until the listener is closed; those that nobody has accepted by then are reset. The port stays held.
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

// Close gives the port up.
func (p *Port) Close() error { return p.socket.Close() }

// refuse has the kernel refuse connections. The socket stays bound until it is closed.
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

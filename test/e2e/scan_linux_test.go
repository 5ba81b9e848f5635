// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/sys/netns"
)

// networkOf returns the network namespace of a container of the lab.
func networkOf(t *testing.T, n *lab.Node) string {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("entering the network of another process needs root")
	}

	s, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return fmt.Sprintf("/proc/%d/ns/net", s.Machine.PID)
}

// lookup asks a DNS server for the IPv4 addresses of a name, from the network of a container.
func lookup(t *testing.T, from *lab.Node, server, name string) ([]string, error) {
	t.Helper()

	var conn net.Conn

	if err := netns.Do(networkOf(t, from), func() (err error) {
		conn, err = net.Dial("udp", server)

		return err
	}); err != nil {
		return nil, err
	}
	defer conn.Close()

	client := dns.Client{Timeout: 5 * time.Second}

	answer, _, err := client.ExchangeWithConn(new(dns.Msg).SetQuestion(dns.Fqdn(name), dns.TypeA), &dns.Conn{Conn: conn})
	if err != nil {
		return nil, err
	}

	if answer.Rcode != dns.RcodeSuccess {
		return nil, fmt.Errorf("%s: %s answers %s", name, server, dns.RcodeToString[answer.Rcode])
	}

	var addresses []string

	for _, record := range answer.Answer {
		if a, ok := record.(*dns.A); ok {
			addresses = append(addresses, a.A.String())
		}
	}

	return addresses, nil
}

// listenIn listens on a TCP port in the network of a container. The connections are those of the test.
func listenIn(t *testing.T, n *lab.Node, at netip.AddrPort) net.Listener {
	t.Helper()

	var listener net.Listener

	if err := netns.Do(networkOf(t, n), func() (err error) {
		listener, err = net.Listen("tcp4", at.String())

		return err
	}); err != nil {
		t.Fatal(err)
	}

	return listener
}

const (
	// scanBatch is how many ports are tried at the same time, each with a socket.
	scanBatch = 8192
	// After scanBurst packets there is a pause: the queue of a network card is short.
	scanBurst = 256
	scanPause = 2 * time.Millisecond
	// scanPatience is enough for a second packet of the kernel, which it sends after a second.
	scanPatience = 1500 * time.Millisecond
)

// scanner returns a function that scans an address from the network of a container. The function returns the TCP ports that answer: they
// accept or refuse a connection. A firewall drops packets without an answer.
func scanner(t *testing.T, from *lab.Node, to netip.Addr) func(ports []uint16) []uint16 {
	t.Helper()

	namespace := networkOf(t, from)

	return func(ports []uint16) (open []uint16) {
		t.Helper()

		for batch := range slices.Chunk(ports, scanBatch) {
			found, err := answering(namespace, to, batch)
			if err != nil {
				t.Fatalf("scan %s: %v", to, err)
			}

			open = append(open, found...)
		}

		slices.Sort(open)

		return open
	}
}

// answering returns the ports that answer in time.
func answering(namespace string, to netip.Addr, ports []uint16) (open []uint16, err error) {
	sockets := make([]unix.PollFd, 0, len(ports))

	defer func() {
		for _, s := range sockets {
			if s.Fd >= 0 {
				unix.Close(int(s.Fd))
			}
		}
	}()

	err = netns.Do(namespace, func() error {
		for i, port := range ports {
			if i%scanBurst == scanBurst-1 {
				time.Sleep(scanPause)
			}

			fd, err := connect(netip.AddrPortFrom(to, port))
			if err != nil {
				return err
			}

			sockets = append(sockets, unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT})
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	for deadline := time.Now().Add(scanPatience); len(open) < len(ports) && time.Now().Before(deadline); {
		if _, err := unix.Poll(sockets, int(time.Until(deadline).Milliseconds())+1); err != nil && !errors.Is(err, unix.EINTR) {
			return nil, err
		}

		for i := range sockets {
			s := &sockets[i]
			if s.Fd < 0 || s.Revents == 0 {
				continue
			}

			cause, err := unix.GetsockoptInt(int(s.Fd), unix.SOL_SOCKET, unix.SO_ERROR)
			if err != nil {
				return nil, err
			}

			if cause != 0 && unix.Errno(cause) != unix.ECONNREFUSED {
				return nil, fmt.Errorf("connect to port %d: %w", ports[i], unix.Errno(cause))
			}

			open = append(open, ports[i])

			unix.Close(int(s.Fd))
			s.Fd = -1
		}
	}

	return open, nil
}

// connect begins to connect, and returns the socket.
func connect(to netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}

	if err := unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		unix.Close(fd)

		return -1, fmt.Errorf("connect to %s: %w", to, err)
	}

	return fd, nil
}

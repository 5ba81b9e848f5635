// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/pki"
)

// memoryBudget is the limit of the process under any load, in MiB: the kernel kills it at 128.
const memoryBudget = 120

// client returns a client of the child that connects from an address, by a connection that wrap may change.
func (p *apidProcess) client(t testing.TB, from string, wrap func(net.Conn) net.Conn) machine.MachineServiceClient {
	t.Helper()

	pool, err := pki.Pool(p.ca.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*clientCert(t, p.ca, "os:admin")}}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}

	conn, err := grpc.NewClient("passthrough:///"+p.addr, grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(2*contract.MaxMessage), grpc.MaxCallRecvMsgSize(contract.MaxMessage)),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, "tcp", address)
			if err == nil && wrap != nil {
				conn = wrap(conn)
			}

			return conn, err
		}))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { conn.Close() })

	return machine.NewMachineServiceClient(conn)
}

// served makes a call from new clients of both addresses, and returns how long the slowest took.
func (p *apidProcess) served(t testing.TB, when string) {
	t.Helper()

	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		start := time.Now()

		_, err := p.client(t, from, nil).Version(ctx, &emptypb.Empty{}, grpc.WaitForReady(true))
		if err != nil {
			t.Errorf("%s: client at %s: got %v after %s, want an answer", when, from, err, time.Since(start))
		} else {
			t.Logf("%s: client at %s: answered after %s", when, from, time.Since(start).Round(time.Millisecond))
		}

		cancel()
	}
}

// bounded checks the memory of the process, and its log.
func (p *apidProcess) bounded(t testing.TB, when string, budget int) {
	t.Helper()

	now, peak := p.memory(t)
	lines := strings.Count(readFile(t, p.log), "\n")
	t.Logf("%s: %d MiB, at most %d MiB; %d lines of log", when, now, peak, lines)

	if peak > budget {
		t.Errorf("%s: apid needed %d MiB, want at most %d", when, peak, budget)
	}

	if lines > 2000 {
		t.Errorf("%s: %d lines were logged", when, lines)
	}
}

// TestHalfOpenConnections opens ten thousand connections: silent ones, some that start TLS, and garbage.
func TestHalfOpenConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("opens 10,000 connections")
	}

	p := startChild(t)
	garbage := make([]byte, 4096)
	rand.Read(garbage)

	hello := "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + string(garbage[:200])

	var (
		open []net.Conn
		mu   sync.Mutex
		wait sync.WaitGroup
	)

	defer func() {
		for _, conn := range open {
			conn.Close()
		}
	}()

	for worker := range 4 {
		wait.Go(func() {
			for i := range 2500 {
				conn, err := net.Dial("tcp", p.addr)
				if err != nil {
					t.Error(err)

					return
				}

				mu.Lock()
				open = append(open, conn)
				mu.Unlock()

				switch (i + worker) % 4 {
				case 0:
					_, _ = io.WriteString(conn, hello) // it may be cut off
				case 1:
					_, _ = conn.Write(garbage)
				}

				if worker == 0 && i%1000 == 500 {
					p.served(t, strconv.Itoa(4*i)+" connections")
				}
			}
		})
	}

	wait.Wait()
	p.served(t, "10000 connections")
	p.bounded(t, "10000 connections", 80)
}

// TestConnectionsWithCertificates: one client opens as many connections as it can, and another one is still served.
func TestConnectionsWithCertificates(t *testing.T) {
	p := startChild(t)

	pool, err := pki.Pool(p.ca.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*clientCert(t, p.ca, "os:reader")}, NextProtos: []string{"h2"}}
	inside := 0

	for range maxConnectionsOfHost + 20 {
		conn, err := tls.Dial("tcp", p.addr, config)
		if err != nil {
			continue
		}
		defer conn.Close()

		if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
			continue
		}

		conn.SetDeadline(time.Now().Add(time.Minute)) // read says

		if _, err := io.ReadFull(conn, make([]byte, 9)); err == nil {
			inside++
		}
	}

	if inside != maxConnectionsOfHost {
		t.Errorf("got %d connections from one address, want %d", inside, maxConnectionsOfHost)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	if _, err := p.client(t, "127.0.0.2", nil).Version(ctx, &emptypb.Empty{}); err != nil {
		t.Errorf("a client at another address: %v", err)
	}

	p.bounded(t, "idle connections", 80)
}

// TestMemoryOfLargeMessages: the largest message alone passes, larger ones are refused, and many at once do not use up memory.
func TestMemoryOfLargeMessages(t *testing.T) {
	p := startChild(t)
	client := p.client(t, "127.0.0.1", nil)

	if _, err := client.ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{Data: make([]byte, contract.MaxMessage-64)}); err != nil {
		t.Errorf("the largest: %v", err)
	}

	if _, err := client.ApplyConfiguration(t.Context(), &machine.ApplyConfigurationRequest{Data: make([]byte, contract.MaxMessage)}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a larger one: got %v, want ResourceExhausted", status.Code(err))
	}

	p.bounded(t, "one at a time", memoryBudget)

	var (
		wait     sync.WaitGroup
		done, no atomic.Int32
	)

	request := &machine.ApplyConfigurationRequest{Data: make([]byte, 24<<20)}

	for i := range 4 {
		many := p.client(t, "127.0.0.1", nil)

		for range 4 {
			wait.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()

				if _, err := many.ApplyConfiguration(ctx, request); err == nil {
					done.Add(1)
				} else {
					no.Add(1)
				}
			})
		}

		if i == 2 {
			p.served(t, "large messages")
		}
	}

	wait.Wait()
	t.Logf("of 16 large messages at once, %d passed and %d were refused", done.Load(), no.Load())
	p.served(t, "after large messages")
	p.bounded(t, "16 at once", memoryBudget)
}

// stalled is a connection that stops reading after some bytes.
type stalled struct {
	net.Conn

	left int
	end  context.Context // until the connection is closed
	stop func()
}

func stall(conn net.Conn) net.Conn {
	end, stop := context.WithCancel(context.Background())

	return &stalled{Conn: conn, left: 64 << 10, end: end, stop: stop}
}

func (s *stalled) Read(b []byte) (int, error) {
	if s.left <= 0 {
		<-s.end.Done()

		return 0, net.ErrClosed
	}

	n, err := s.Conn.Read(b)
	s.left -= n

	return n, err
}

func (s *stalled) Close() error {
	s.stop()

	return s.Conn.Close()
}

// TestSlowReaders: clients request long answers and do not read them.
func TestSlowReaders(t *testing.T) {
	p := startChild(t)
	for range 8 {
		client := p.client(t, "127.0.0.1", stall)

		for range 50 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()

			if _, err := client.DiskUsage(ctx, &machine.DiskUsageRequest{}); err != nil {
				break // it was cut off
			}

			go client.LogsContainers(ctx, &emptypb.Empty{}) // the answer is never read
		}
	}

	for range 5 {
		time.Sleep(300 * time.Millisecond)
		p.served(t, "slow readers")
	}

	p.bounded(t, "slow readers", memoryBudget)
}

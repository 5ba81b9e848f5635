// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/registry"
	"github.com/seed-59268b81/talos/discovery/server"
)

// The environment variables that make the test binary a service on that socket, with TLS if the second one is set.
const (
	serviceSocket = "TEST_DISCOVERY_SOCKET"
	serviceTLS    = "TEST_DISCOVERY_TLS"
)

func init() {
	socket := os.Getenv(serviceSocket)
	if socket == "" {
		return
	}

	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	fatal(err)

	options := server.ServerOptions()

	if os.Getenv(serviceTLS) != "" {
		web := httptest.NewTLSServer(nil)
		web.Close()

		options = append(options, grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: web.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
		})))
	}

	s := server.New(server.Options{Limits: registry.ProvedLimits}, slog.New(slog.DiscardHandler))
	g := grpc.NewServer(options...)
	s.Register(g)

	// It ends with its parent, however that ends.
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()

	fmt.Println("serving")
	fatal(s.With(context.Background(), func() error { return g.Serve(l) }))
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// apart is a service in a process of its own, whose memory and processor time are not those of its clients.
type apart struct {
	b      testing.TB
	pid    int
	socket string
	secure bool

	members  int
	watchers []*watcher
	// messages is how many messages all watchers have received.
	messages atomic.Int64
}

// watcher is a client that watches. It does not decode what it receives.
type watcher struct {
	api serverapi.ClusterClient
	// last is when its last message came, since the benchmark began.
	last atomic.Int64
}

func startApart(b testing.TB, secure bool) *apart {
	b.Helper()

	s := &apart{b: b, secure: secure, socket: filepath.Join(b.TempDir(), "s")}

	//program:built the tests of this package
	cmd := exec.Command(os.Args[0])

	cmd.Env = append(os.Environ(), serviceSocket+"="+s.socket, "GOGC=50") // as machines and cmd/discovery start it
	if secure {
		cmd.Env = append(cmd.Env, serviceTLS+"=1")
	}

	cmd.Stderr = os.Stderr

	if _, err := cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})

	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatalf("start the service: got %q, %v", line, err)
	}

	s.pid = cmd.Process.Pid

	return s
}

func (s *apart) connect() *grpc.ClientConn {
	s.b.Helper()

	creds := insecure.NewCredentials()
	if s.secure {
		creds = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}

	conn, err := grpc.NewClient("unix:"+s.socket, grpc.WithTransportCredentials(creds), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(extension.Codec{}),
		grpc.MaxCallRecvMsgSize(32<<20)),
		// As our client does it.
		grpc.WithReadBufferSize(4<<10), grpc.WithWriteBufferSize(4<<10), grpc.WithInitialWindowSize(1<<20), grpc.WithInitialConnWindowSize(1<<20),
		grpc.WithDisableServiceConfig())
	if err != nil {
		s.b.Fatal(err)
	}

	s.b.Cleanup(func() { conn.Close() })

	return conn
}

// member returns what a machine publishes, of usual size.
func member(i int, text string) *serverapi.AffiliateUpdateRequest {
	data := strings.Repeat(text, 400/len(text))

	return update(fmt.Sprintf("sou7yy34ykX3n373Zw1DXKb8zD7UnyKT6HT3-%04d", i), data, 30*time.Minute, "an endpoint: 20 byte", "another of 20 bytes.")
}

// fill publishes n members.
func (s *apart) fill(api serverapi.ClusterClient, n int) {
	s.b.Helper()

	for i := range n {
		must(s.b, api, member(i, "first"))
	}

	s.members = n
}

// watch adds n watchers at once, each with a connection of its own, and waits until all have received all members.
func (s *apart) watch(n int, began time.Time) {
	s.b.Helper()

	failed := make(chan error, n)

	for range n {
		conn := s.connect()
		w := &watcher{api: serverapi.NewClusterClient(conn)}
		s.watchers = append(s.watchers, w)

		go func() {
			stream, err := s.begin(conn)

			// The service closes connections that do not begin in time, which happens on a busy computer.
			for deadline := time.Now().Add(2 * time.Minute); status.Code(err) == codes.Unavailable && time.Now().Before(deadline); {
				stream, err = s.begin(conn)
			}

			failed <- err

			if err != nil {
				return
			}

			for raw := (extension.Raw{}); stream.RecvMsg(&raw) == nil; {
				w.last.Store(int64(time.Since(began)))
				s.messages.Add(1)
			}
		}()
	}

	for range n {
		if err := <-failed; err != nil {
			s.b.Fatal(err)
		}
	}
}

// begin returns a stream whose first message has been received.
func (s *apart) begin(conn *grpc.ClientConn) (grpc.ClientStream, error) {
	stream, err := conn.NewStream(s.b.Context(), &grpc.StreamDesc{ServerStreams: true}, serverapi.Cluster_Watch_FullMethodName, grpc.WaitForReady(true))
	if err != nil {
		return nil, err
	}

	if err := errors.Join(stream.SendMsg(&serverapi.WatchRequest{ClusterId: "c"}), stream.CloseSend()); err != nil {
		return nil, err
	}

	var raw extension.Raw
	if err := stream.RecvMsg(&raw); err != nil {
		return nil, err
	}

	if m, err := extension.DecodeResponse(raw); err != nil || len(m.Members) != s.members {
		return nil, fmt.Errorf("the first message: got %d members, %v, want %d", len(m.Members), err, s.members)
	}

	return stream, nil
}

// told waits until all watchers have received so many messages together.
func (s *apart) told(n int64) {
	s.b.Helper()

	for deadline := time.Now().Add(time.Minute); s.messages.Load() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.b.Fatalf("the watchers have received %d messages, want %d", s.messages.Load(), n)
		}
	}

	if got := s.messages.Load(); got != n {
		s.b.Fatalf("the watchers have received %d messages, want %d", got, n)
	}
}

// used returns the processor time that the service has used.
func (s *apart) used() time.Duration {
	s.b.Helper()

	var t unix.Timespec

	// The clock of a process, see clock_getcpuclockid(3).
	if err := unix.ClockGettime(int32(^s.pid<<3|2), &t); err != nil {
		s.b.Fatal(err)
	}

	return time.Duration(t.Nano())
}

// memory returns a number of /proc/PID/status in MiB.
func (s *apart) memory(name string) float64 {
	s.b.Helper()

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		s.b.Fatal(err)
	}

	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); words[0] == name+":" {
			kib, err := strconv.Atoi(words[1])
			if err != nil {
				s.b.Fatal(err)
			}

			return float64(kib) / 1024
		}
	}

	s.b.Fatalf("no %s in the status of the process", name)

	return 0
}

// BenchmarkRefresh publishes again what a member has published already, while 1,000 watch. No one is told.
func BenchmarkRefresh(b *testing.B) {
	const watchers = 1000

	s := startApart(b, false)
	api := serverapi.NewClusterClient(s.connect())
	s.fill(api, watchers)
	s.watch(watchers, time.Now())

	var took []time.Duration

	before := s.used()

	for i := 0; b.Loop(); i++ {
		in := member(i%watchers, "first")
		start := time.Now()

		must(b, api, in)

		took = append(took, time.Since(start))
	}

	used := s.used() - before

	// A change afterwards is the only message.
	must(b, api, member(0, "second"))
	s.told(watchers)

	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e6, "ms/median")
	b.ReportMetric(float64(used.Nanoseconds())/1e6/float64(len(took)), "cpu-ms/refresh")
	b.ReportMetric(float64(s.messages.Load()-watchers)/float64(len(took)), "messages/refresh")
}

// BenchmarkJoin measures when watchers hear of a new member, from the start of its call.
func BenchmarkJoin(b *testing.B) {
	for _, watchers := range []int{1000, 5000} {
		b.Run(fmt.Sprint(watchers), func(b *testing.B) {
			s := startApart(b, false)
			api := serverapi.NewClusterClient(s.connect())
			began := time.Now()

			s.fill(api, watchers-1)
			s.watch(watchers, began)

			var (
				// last is the 99th percentile of each join.
				last []time.Duration
				used time.Duration
				told int64
			)

			for b.Loop() {
				// The cluster is quiet: nothing waits for the end of a window.
				time.Sleep(300 * time.Millisecond)

				in := member(watchers, "joined")
				start, before := time.Since(began), s.used()

				must(b, api, in)

				told += int64(watchers)
				s.told(told)

				used += s.used() - before
				at := make([]time.Duration, watchers)

				for i, w := range s.watchers {
					at[i] = time.Duration(w.last.Load()) - start
				}

				slices.Sort(at)
				last = append(last, at[watchers*99/100])

				time.Sleep(300 * time.Millisecond)

				if _, err := api.AffiliateDelete(b.Context(), &serverapi.AffiliateDeleteRequest{ClusterId: "c", AffiliateId: in.GetAffiliateId()}); err != nil {
					b.Fatal(err)
				}

				told += int64(watchers)
				s.told(told)
			}

			slices.Sort(last)
			b.ReportMetric(float64(last[len(last)/2].Microseconds())/1e3, "ms/p99")
			b.ReportMetric(float64(last[0].Microseconds())/1e3, "ms/p99-best")
			b.ReportMetric(float64(used.Microseconds())/1e3/float64(len(last)), "cpu-ms/join")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkMemory reports the memory of a service to which 1,000 watchers have come at once, over TLS. Each publishes itself again, and all are
// told about a change.
func BenchmarkMemory(b *testing.B) {
	const watchers = 1000

	s := startApart(b, true)
	api := serverapi.NewClusterClient(s.connect())
	s.fill(api, watchers)
	s.watch(watchers, time.Now())

	refresh := func(i int) { must(b, s.watchers[i].api, member(i, "first")) }

	for i := range watchers {
		refresh(i)
	}

	for i := 0; b.Loop(); i++ {
		refresh(i % watchers)
	}

	must(b, api, member(0, "second"))
	s.told(watchers)

	b.ReportMetric(s.memory("RssAnon"), "MiB/anonymous")
	b.ReportMetric(s.memory("VmRSS"), "MiB/resident")
	b.ReportMetric(s.memory("VmHWM"), "MiB/peak")
}

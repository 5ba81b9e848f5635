// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// backendSocket is the environment variable that makes the test binary serve as machined on that socket.
const backendSocket = "TEST_BACKEND_SOCKET"

func init() {
	socket := os.Getenv(backendSocket)
	if socket == "" {
		return
	}

	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", socket)
	fatal(err)

	g := grpc.NewServer()
	machine.RegisterMachineServiceServer(g, &backend{name: "a"})
	fmt.Println("serving")
	fatal(g.Serve(l))
}

// apart moves the backend of apid to a process of its own, as machined is: calls within one process would cost no context switch.
func (p *apidProcess) apart(t testing.TB) {
	t.Helper()

	if err := os.Remove(p.socket); err != nil {
		t.Fatal(err)
	}

	spawn(t, os.Stderr, backendSocket+"="+p.socket)
}

// BenchmarkVersion makes a unary call through apid, and the same call to the backend itself. The medians count: apid may cost at most
// 0.3 ms.
func BenchmarkVersion(b *testing.B) {
	p := startChild(b)
	p.apart(b)

	conn, err := grpc.NewClient("unix:"+p.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() { conn.Close() })

	for _, way := range []struct {
		name   string
		client machine.MachineServiceClient
	}{
		{"direct", machine.NewMachineServiceClient(conn)}, {"through apid", p.client(b, "127.0.0.1", nil)},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()

			var took []time.Duration

			for b.Loop() {
				start := time.Now()

				if _, err := way.client.Version(b.Context(), &emptypb.Empty{}); err != nil {
					b.Fatal(err)
				}

				took = append(took, time.Since(start))
			}

			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/median")
		})
	}
}

// BenchmarkThousandASecond makes a thousand calls a second and reports the memory of the process.
func BenchmarkThousandASecond(b *testing.B) {
	p := startChild(b)
	client := p.client(b, "127.0.0.1", nil)
	calls := make(chan struct{}, 1000)

	var wait sync.WaitGroup

	for range 16 {
		wait.Go(func() {
			for range calls {
				if _, err := client.Version(b.Context(), &emptypb.Empty{}); err != nil {
					b.Error(err)
				}
			}
		})
	}

	start := time.Now()

	// By the clock, to catch up after delays of a busy computer.
	for due := start; b.Loop(); due = due.Add(time.Millisecond) {
		time.Sleep(time.Until(due))
		calls <- struct{}{}
	}

	close(calls)
	wait.Wait()

	now, peak := p.memory(b)
	b.ReportMetric(float64(now), "MiB")
	b.ReportMetric(float64(peak), "MiB/peak")
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "calls/s")
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/sys/kmsg"
)

// heap returns the memory in use after a garbage collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()

	var m runtime.MemStats

	runtime.ReadMemStats(&m)

	return int64(m.HeapAlloc) // far below
}

// TestSlowReaders opens many streams that are never read while a lot is logged, and measures the memory of each. Client and server
// are in one process, so the client's buffers count too: its window is 64 KiB a stream.
func TestSlowReaders(t *testing.T) {
	const (
		readers  = 30
		perEach  = 768 << 10 // most of it are the windows; a whole log would be a mebibyte
		lineSize = 500
		lines    = 20_000 // ten times what a ring keeps
	)

	b := newBench(t)
	ctx, cancel := context.WithCancel(as(t.Context(), contract.RoleReader))

	defer cancel()

	conn, err := grpc.NewClient(b.conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(16<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	slow := machine.NewMachineServiceClient(conn)

	b.Root = t.TempDir()

	pod := filepath.Join(b.Root, layout.PodLogsDir, "ns_pod_uid", "app")
	if err := os.MkdirAll(pod, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(pod, "0.log"), bytes.Repeat([]byte("a line of a pod\n"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}

	openJournal(t, b, lines/10)

	line := bytes.Repeat([]byte("x"), lineSize)
	for range lines {
		b.Outputs.Append("etcd", line)
	}

	for _, tt := range []struct {
		name string
		open func() error
	}{
		{"logs", func() error {
			_, err := slow.Logs(ctx, &machine.LogsRequest{Id: "etcd", TailLines: -1, Follow: true})

			return err
		}},
		{"logs of a pod", func() error {
			_, err := slow.Logs(ctx, &machine.LogsRequest{Namespace: "k8s.io", Id: "ns/pod:app", TailLines: 1 << 19, Follow: true})

			return err
		}},
		{"logs of the previous boot", func() error {
			_, err := slow.Logs(ofBoot(ctx, "-1"), &machine.LogsRequest{Id: "etcd", TailLines: -1})

			return err
		}},
		{"events", func() error {
			_, err := slow.Events(ctx, &machine.EventsRequest{TailEvents: -1})

			return err
		}},
		{"dmesg", func() error {
			if _, err := os.Stat(kmsg.Path); err != nil {
				return nil
			}

			_, err := slow.Dmesg(ctx, &machine.DmesgRequest{Follow: true})

			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := heap()

			for range readers {
				if err := tt.open(); err != nil {
					t.Fatal(err)
				}
			}

			for range lines {
				b.Outputs.Append("etcd", line)
				b.Ring.Publish(&machine.PhaseEvent{Phase: string(line)}, "")
			}

			// The ring alone is as large as its events.
			if grown := heap() - before; grown > readers*perEach+2<<20 {
				t.Errorf("%d readers that do not read hold %d KiB", readers, grown>>10)
			} else {
				t.Logf("%d readers that do not read hold %d KiB", readers, grown>>10)
			}
		})
	}

	// Other clients are served.
	short, done := context.WithTimeout(ctx, time.Minute)
	defer done()

	stream, err := b.machine.Logs(short, &machine.LogsRequest{Id: "etcd", TailLines: 1})
	if got, err := text(t, stream, err); err != nil || len(got) != lineSize+1 {
		t.Errorf("a reader that reads: got %d bytes, %v", len(got), err)
	}
}

// openJournal returns a journal whose previous boot has some lines of etcd.
func openJournal(t *testing.T, b *bench, lines int) {
	t.Helper()

	limits := bootlog.DefaultLimits
	limits.Burst = limits.Pending
	dir := t.TempDir()

	for i, j := range []*bootlog.Journal{bootlog.New(limits), b.Journal} {
		err := j.Open(dir, bootlog.Boot{ID: fmt.Sprint(i), Start: time.Now()}, func(error) {})
		if err != nil {
			t.Fatal(err)
		}

		for range lines {
			j.Append("etcd", []byte(strings.Repeat("y", 500)))
		}

		if i > 0 {
			t.Cleanup(func() { j.Close() })

			return
		}

		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSlowReaderOfEventsIsTold: a reader that is too slow for the ring gets an error, not a gap.
func TestSlowReaderOfEventsIsTold(t *testing.T) {
	b := newBench(t)

	stream, err := b.machine.Events(as(t.Context(), contract.RoleReader), &machine.EventsRequest{TailEvents: -1})
	if err != nil {
		t.Fatal(err)
	}

	b.Ring.Publish(&machine.PhaseEvent{Phase: "first"}, "")

	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}

	// More than the ring and the connection's growing window hold.
	text := strings.Repeat("x", 4<<10)
	for range 20_000 {
		b.Ring.Publish(&machine.PhaseEvent{Phase: text}, "")
	}

	for err == nil {
		_, err = stream.Recv()
	}

	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "read faster") {
		t.Errorf("got %v, want ResourceExhausted", err)
	}
}

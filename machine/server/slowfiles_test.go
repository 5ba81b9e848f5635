// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
)

// TestSlowFileReaders opens streams that are larger than memory, and reads only the first message of each. Each holds a few chunks on
// both ends, and other clients are served.
func TestSlowFileReaders(t *testing.T) {
	const (
		readers = 8
		perEach = 3 << 20 // most of it is the compressor of a copy
	)

	b := newBench(t)
	root := t.TempDir()

	if err := os.WriteFile(root+"/large", nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := os.Truncate(root+"/large", 1<<42); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(as(t.Context(), contract.RoleAdmin))
	defer cancel()

	conn, err := grpc.NewClient(b.conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(16<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	client := machine.NewMachineServiceClient(conn)
	before := heap()

	for range readers {
		// The first message shows that the stream has started.
		read, err := client.Read(ctx, &machine.ReadRequest{Path: root + "/large"})
		first(t, read, err)

		list, err := client.List(ctx, &machine.ListRequest{Root: "/proc", Recurse: true, RecursionDepth: 4})
		first(t, list, err)

		archive, err := client.Copy(ctx, &machine.CopyRequest{RootPath: "/usr/lib"})
		first(t, archive, err)
	}

	time.Sleep(time.Second) // for the servers to run into the windows

	if grown := heap() - before; grown > 3*readers*perEach {
		t.Errorf("%d streams keep %d KiB", 3*readers, grown>>10)
	} else {
		t.Logf("%d streams keep %d KiB", 3*readers, grown>>10)
	}

	stream, err := b.machine.Read(as(t.Context(), contract.RoleAdmin), &machine.ReadRequest{Path: "/proc/self/comm"})
	if got, err := text(t, stream, err); err != nil || got != "server.test\n" {
		t.Errorf("another reader at the same time: got %q, %v", got, err)
	}
}

func first[M any](t *testing.T, stream grpc.ServerStreamingClient[M], err error) {
	t.Helper()

	if err == nil {
		_, err = stream.Recv()
	}

	if err != nil {
		t.Fatal(err)
	}
}

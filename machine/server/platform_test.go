// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/sys/platform"
)

func TestVersionTellsThePlatform(t *testing.T) {
	for _, mode := range []platform.Mode{platform.Metal, platform.Container} {
		b := newBench(t)
		b.Platform = platform.Platform{Mode: mode}

		got, err := b.machine.Version(as(t.Context(), contract.RoleReader), &emptypb.Empty{})
		if err != nil {
			t.Fatal(err)
		}

		if p := got.GetMessages()[0].GetPlatform(); p.GetName() != mode.String() || p.GetMode() != mode.String() {
			t.Errorf("got %v, want %s", p, mode)
		}
	}
}

// In a container dmesg is machined's log: all of it, or with tail only new lines.
func TestDmesgInContainer(t *testing.T) {
	b := newBench(t)
	b.Platform = platform.Platform{Mode: platform.Container}
	b.Outputs.Append(MachinedLog, []byte("starting"))

	stream, err := b.machine.Dmesg(as(t.Context(), contract.RoleReader), &machine.DmesgRequest{})
	if err != nil {
		t.Fatal(err)
	}

	if got, err := stream.Recv(); err != nil || string(got.GetBytes()) != "starting\n" {
		t.Errorf("got %q, %v", got.GetBytes(), err)
	}

	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last line: got %v, want the end", err)
	}

	stream, err = b.machine.Dmesg(as(t.Context(), contract.RoleReader), &machine.DmesgRequest{Follow: true, Tail: true})
	if err != nil {
		t.Fatal(err)
	}

	// The header confirms the call: only lines that are logged after it may arrive.
	lines := make(chan string, 1)

	go func() {
		got, _ := stream.Recv() // nothing came then
		lines <- string(got.GetBytes())
	}()

	eventually(t, "a line", func() bool {
		b.Outputs.Append(MachinedLog, []byte("later"))

		select {
		case line := <-lines:
			if !strings.HasPrefix(line, "later\n") {
				t.Errorf("got %q, want only later lines", line)
			}

			return true
		default:
			return false
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/service/bootlog"
)

// ofBoot returns a context for calls about an earlier boot.
func ofBoot(ctx context.Context, boot string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, MetadataBoot, boot)
}

func TestLogsOfEarlierBoots(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleReader)
	dir := t.TempDir()

	stream, err := b.machine.Logs(ofBoot(ctx, "-1"), &machine.LogsRequest{Id: "etcd", TailLines: -1})
	if _, err = text(t, stream, err); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("before the disk is there: got %v, want FailedPrecondition", err)
	}

	// An earlier boot, recorded by another process.
	earlier := bootlog.New(bootlog.DefaultLimits)
	open := func(j *bootlog.Journal, id string) {
		t.Helper()

		err := j.Open(dir, bootlog.Boot{ID: id, Start: time.Now()}, func(error) {})
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { j.Close() })
	}

	open(earlier, "one")
	earlier.Append("etcd", []byte("first"))
	earlier.Append("etcd", []byte("last"))
	earlier.Append(bootlog.Kernel, []byte("kern: hello"))

	if err := earlier.Close(); err != nil {
		t.Fatal(err)
	}

	open(b.Journal, "two")
	b.Outputs.Append("etcd", []byte("now"))

	// Lines of a boot that left no logs.
	if err := b.Journal.Settle(bootlog.Evidence{}); err != nil {
		t.Fatal(err)
	}

	if err := b.Journal.Settle(bootlog.Evidence{Panic: "kernel panic: no init", Lines: []string{"the end"}}); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name    string
		boot    string
		request *machine.LogsRequest
		want    string
		code    codes.Code
		says    string
	}{
		{"this boot", "0", &machine.LogsRequest{Id: "etcd", TailLines: -1}, "now\n", codes.OK, ""},
		{"the previous one", "-1", &machine.LogsRequest{Namespace: "system", Id: "etcd", TailLines: -1}, "first\nlast\n", codes.OK, ""},
		{"its last line", "-1", &machine.LogsRequest{Id: "etcd", TailLines: 1}, "last\n", codes.OK, ""},
		{"no such log", "-1", &machine.LogsRequest{Id: "unknown", TailLines: 1}, "", codes.NotFound, `that boot has ["etcd" "kernel"]`},
		{"no such boot", "-2", &machine.LogsRequest{Id: "etcd", TailLines: 1}, "", codes.NotFound, "talosctl get boots"},
		{"with follow", "-1", &machine.LogsRequest{Id: "etcd", Follow: true}, "", codes.InvalidArgument, "nothing to follow"},
		{"of a pod", "-1", &machine.LogsRequest{Namespace: "k8s.io", Id: "a/b:c"}, "", codes.InvalidArgument, "of services"},
		{"a future boot", "1", &machine.LogsRequest{Id: "etcd"}, "", codes.InvalidArgument, "want one number"},
		{"no number", "last", &machine.LogsRequest{Id: "etcd"}, "", codes.InvalidArgument, "want one number"},
	} {
		stream, err := b.machine.Logs(ofBoot(ctx, tt.boot), tt.request)

		got, err := text(t, stream, err)
		if got != tt.want || status.Code(err) != tt.code || tt.says != "" && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %q, %v, want %q, %v with %q", tt.name, got, err, tt.want, tt.code, tt.says)
		}
	}

	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) { // lines are written once a second
		stream, err := b.machine.Logs(ctx, &machine.LogsRequest{Id: bootlog.PStore, TailLines: 1})

		got, err := text(t, stream, err)
		if got == "the end\n" {
			break
		}

		if status.Code(err) != codes.NotFound || time.Now().After(deadline) {
			t.Fatalf("of a boot without logs: got %q, %v", got, err)
		}
	}

	r, err := b.machine.LogsContainers(ofBoot(ctx, "-1"), &emptypb.Empty{})
	if err != nil || strings.Join(r.GetMessages()[0].GetIds(), " ") != "etcd kernel" {
		t.Errorf("the logs of the previous boot: got %v, %v", r, err)
	}

	messages, err := b.machine.Dmesg(ofBoot(ctx, "-1"), &machine.DmesgRequest{})
	if got, err := text(t, messages, err); err != nil || got != "kern: hello\n" {
		t.Errorf("dmesg of the previous boot: got %q, %v", got, err)
	}
}

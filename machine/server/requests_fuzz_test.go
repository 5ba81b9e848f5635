// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/api/storage"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/netstat"
)

// FuzzRequests runs the checks of requests on any request. One that they accept fulfils what the calls rely on; one that they refuse
// has an error with a reason.
func FuzzRequests(f *testing.F) {
	for _, m := range []proto.Message{
		&machine.ReadRequest{Path: "/etc/hosts"}, &machine.MetaWriteRequest{Key: 0xa, Value: []byte("x")},
		&machine.PacketCaptureRequest{Interface: "lo", BpfFilter: []*machine.BPFInstruction{{Op: 6, K: 1}}},
		&machine.NetstatRequest{L4Proto: &machine.NetstatRequest_L4Proto{Tcp: true}, Netns: &machine.NetstatRequest_NetNS{Netns: []string{"cni-1"}}},
		&storage.BlockDeviceWipeDescriptor{Device: "vda1", DropPartition: true},
		runRequest(&machine.DebugContainerRunRequestSpec{ImageName: "i", Args: []string{"sh"}, Env: map[string]string{"A": "b"}, Profile: 2}),
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}

		f.Add(b)
	}

	devices := []disk.Device{{Name: "vda", Path: "/dev/vda"}, {Name: "vda1", Path: "/dev/vda1", Parent: "vda", Partition: 1}}

	f.Fuzz(func(t *testing.T, b []byte) {
		refused := func(err error) bool {
			switch status.Code(err) {
			case codes.OK:
				return false
			case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition:
				return true
			default:
				t.Errorf("%x: got %v", b, err)

				return true
			}
		}

		var read machine.ReadRequest
		if proto.Unmarshal(b, &read) == nil && !refused(absolute("read", read.GetPath())) &&
			(!filepath.IsAbs(read.GetPath()) || strings.Contains(read.GetPath(), "\x00")) {
			t.Errorf("path %q passed", read.GetPath())
		}

		var capture machine.PacketCaptureRequest
		if proto.Unmarshal(b, &capture) == nil {
			if filter, err := bpfFilter(capture.GetBpfFilter()); !refused(err) && len(filter) != len(capture.GetBpfFilter()) {
				t.Errorf("filter %v became %v", &capture, filter)
			}
		}

		var sockets machine.NetstatRequest
		if proto.Unmarshal(b, &sockets) == nil {
			for _, p := range protocols(sockets.GetL4Proto()) {
				if !slices.Contains(netstat.Protocols, p) {
					t.Errorf("protocol %q", p)
				}
			}

			server := &Server{System: System{Root: "/nonexistent"}}
			if spaces, err := server.spaces(sockets.GetNetns()); !refused(err) && len(spaces) != 1 {
				t.Errorf("%v: got %v, want only that of the host", &sockets, spaces)
			}
		}

		var key machine.MetaWriteRequest
		if proto.Unmarshal(b, &key) == nil {
			server := &Server{System: System{Meta: &partition{}}}

			err := server.changeMeta("write", key.GetKey(), func(tag meta.Tag) error {
				if uint32(tag) != key.GetKey() {
					t.Errorf("META key %#x became %s", key.GetKey(), tag)
				}

				return nil
			})
			refused(err)
		}

		var debug machine.DebugContainerRunRequest
		if proto.Unmarshal(b, &debug) == nil {
			if c, err := debugSpec(&debug); !refused(err) && strings.Contains(strings.Join(append(c.Args, c.Env...), ""), "\x00") {
				t.Errorf("%v passed", &debug)
			}
		}

		var device storage.BlockDeviceWipeDescriptor
		if proto.Unmarshal(b, &device) == nil {
			w := wipe{request: &device, sys: "/nonexistent"}
			if !refused(w.check(devices, nil)) {
				t.Errorf("%v: an unknown device passed", &device)
			}
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
)

func TestTagReply(t *testing.T) {
	version := &machine.Version{Version: &machine.VersionInfo{Tag: "v1"}}
	named := func(m *machine.Version) *machine.Version {
		m = proto.CloneOf(m)
		if m.Metadata == nil {
			m.Metadata = &common.Metadata{}
		}

		m.Metadata.Hostname = "n1"

		return m
	}
	failed := &machine.Version{Metadata: &common.Metadata{Hostname: "other", Error: "broken"}}

	for _, tt := range []struct {
		name        string
		reply, want *machine.VersionResponse
	}{
		{"one", &machine.VersionResponse{Messages: []*machine.Version{version}}, &machine.VersionResponse{Messages: []*machine.Version{named(version)}}},
		{"none", &machine.VersionResponse{}, &machine.VersionResponse{Messages: []*machine.Version{named(&machine.Version{})}}},
		{"with metadata of its own", &machine.VersionResponse{Messages: []*machine.Version{failed}}, &machine.VersionResponse{Messages: []*machine.Version{named(failed)}}},
		{
			"several", &machine.VersionResponse{Messages: []*machine.Version{version, {}, version}},
			&machine.VersionResponse{Messages: []*machine.Version{named(version), named(&machine.Version{}), named(version)}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := proto.Marshal(tt.reply)
			if err != nil {
				t.Fatal(err)
			}

			tagged, err := tagReply(raw, "n1")
			if err != nil {
				t.Fatal(err)
			}

			got := &machine.VersionResponse{}
			if err := proto.Unmarshal(tagged, got); err != nil {
				t.Fatal(err)
			}

			if d := cmp.Diff(tt.want, got, protocmp.Transform()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestAnswersInFrames compares with a list of the methods that answer many nodes with a stream.
func TestAnswersInFrames(t *testing.T) {
	want := []string{
		"cluster.ClusterService/HealthCheck",
		"machine.MachineService/Copy", "machine.MachineService/DiskUsage", "machine.MachineService/Dmesg", "machine.MachineService/EtcdSnapshot",
		"machine.MachineService/Events", "machine.MachineService/ImageList", "machine.MachineService/Kubeconfig", "machine.MachineService/List",
		"machine.MachineService/Logs", "machine.MachineService/PacketCapture", "machine.MachineService/Read",
	}

	var got []string

	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)

			for j := range service.Methods().Len() {
				name := string(service.FullName()) + "/" + string(service.Methods().Get(j).Name())
				if aggregates("/"+name) && answersInFrames("/"+name) {
					got = append(got, name)
				}
			}
		}

		return true
	})

	slices.Sort(got)

	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	for method, want := range map[string]bool{
		"/machine.MachineService/NewStream": true, "/machine.MachineService/New": false, "": false, "/": false, "/machine.MachineService": false, "/machine.MachineService/": false,
	} {
		if got := answersInFrames(method); got != want {
			t.Errorf("%q: got %t, want %t", method, got, want)
		}
	}

	for method, want := range map[string]bool{
		"/machine.MachineService/Version": true, "/machine.ImageService/List": false, "/cosi.resource.State/Get": false, "/machine.StorageService/Statfs": false,
		"/storage.StorageService/Disks": true, "/machine.MachineServiceX/A": false, "machine.MachineService/Version": false, "": false,
	} {
		if got := aggregates(method); got != want {
			t.Errorf("aggregates %q: got %t, want %t", method, got, want)
		}
	}
}

func TestErrorAnswers(t *testing.T) {
	err := status.Error(codes.NotFound, "no such \xff service")
	want := &common.Metadata{Hostname: "n?1", Error: "no such ? service"}
	want.Status = status.New(codes.NotFound, "no such ? service").Proto()

	frame := &common.Data{}
	if err := proto.Unmarshal(metadataField("n\xff1", err), frame); err != nil {
		t.Fatal(err)
	}

	reply := &machine.VersionResponse{}
	if err := proto.Unmarshal(errorReply("n\xff1", err), reply); err != nil {
		t.Fatal(err)
	}

	for _, got := range []*common.Metadata{frame.GetMetadata(), reply.GetMessages()[0].GetMetadata()} {
		if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}

// FuzzTagReply combines any bytes of one node with a valid reply of another, which stays readable. A valid reply is decoded as
// before, with the name of its node.
func FuzzTagReply(f *testing.F) {
	good, err := proto.Marshal(&machine.MemoryResponse{Messages: []*machine.Memory{{Meminfo: &machine.MemInfo{Memtotal: 1}}}})
	if err != nil {
		f.Fatal(err)
	}

	f.Add(good)
	f.Add([]byte{})
	f.Add([]byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\x0b\x0c"))
	f.Add([]byte("\x0a\x02\x0a\x05"))
	f.Add(append(slices.Clone(good), "\x12\x01x\x08\x05"...))

	f.Fuzz(func(t *testing.T, reply []byte) {
		input := bytes.Clone(reply)

		tagged, err := tagReply(reply, "n1")
		if err != nil {
			if status.Code(err) != codes.Internal {
				t.Errorf("got %v, want Internal", err)
			}

			tagged = errorReply("n1", err)
		}

		if !bytes.Equal(input, reply) {
			t.Fatal("the reply was changed in place")
		}

		whole := append(appendReply(nil, "n0", good, nil), tagged...)
		decoded, was := &machine.MemoryResponse{}, &machine.MemoryResponse{}
		broken := proto.Unmarshal(input, was)

		if err := proto.Unmarshal(whole, decoded); err != nil {
			// The structure is valid, but a field has another type, which shows only in decoding.
			if broken == nil || errors.Is(broken, nil) {
				t.Fatalf("a valid reply is unreadable afterwards: %v", err)
			}

			return
		}

		if got := decoded.GetMessages()[0].GetMeminfo().GetMemtotal(); got != 1 {
			t.Errorf("the other's answer: got %d, want 1", got)
		}

		if broken != nil {
			return
		}

		for i, m := range decoded.GetMessages()[1:] {
			if m.GetMetadata().GetHostname() != "n1" {
				t.Errorf("message %d: got the name %q, want n1", i, m.GetMetadata().GetHostname())
			}

			if i < len(was.GetMessages()) && !proto.Equal(m.GetMeminfo(), was.GetMessages()[i].GetMeminfo()) {
				t.Errorf("message %d: got %v, want %v", i, m, was.GetMessages()[i])
			}
		}
	})
}

// FuzzTagFrame does the same with the frames of a stream.
func FuzzTagFrame(f *testing.F) {
	f.Add([]byte("\x12\x05chunk"), 3)
	f.Add([]byte(""), 0)
	f.Add([]byte("\x0a\x04\x0a\x02ab"), 1)
	f.Add([]byte("\xff"), 0)

	f.Fuzz(func(t *testing.T, raw []byte, cut int) {
		cut = max(0, min(cut, len(raw)))

		tagged, err := tagFrame(mem.BufferSlice{mem.SliceBuffer(raw[:cut]), mem.SliceBuffer(raw[cut:])}, "n1")
		if err != nil {
			return
		}

		got, was := &common.Data{}, &common.Data{}
		if err := proto.Unmarshal(raw, was); err != nil {
			return
		}

		if err := proto.Unmarshal(tagged.Materialize(), got); err != nil {
			t.Fatalf("a valid frame is unreadable afterwards: %v", err)
		}

		if got.GetMetadata().GetHostname() != "n1" || !bytes.Equal(got.GetBytes(), was.GetBytes()) {
			t.Errorf("got %v, want the name n1 and %v", got, was)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"testing"
	"unsafe"

	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/cosi/v1alpha1"
)

// TestCodec: an answer with encoded parts is sent as it is, and every message has the bytes that gRPC's own codec sends.
func TestCodec(t *testing.T) {
	resource := &v1alpha1.Resource{Metadata: &v1alpha1.Metadata{Id: "a"}}
	frame, err := proto.Marshal(&v1alpha1.WatchResponse{Event: []*v1alpha1.Event{{Resource: resource}}})
	if err != nil {
		t.Fatal(err)
	}

	encoded := func(m proto.Message) proto.Message {
		m.ProtoReflect().SetUnknown(frame)

		return m
	}

	for name, tt := range map[string]struct {
		msg    proto.Message
		shared bool
	}{
		"events":                        {encoded(&v1alpha1.WatchResponse{}), true},
		"an item of a list":             {encoded(&v1alpha1.ListResponse{}), true},
		"a resource":                    {encoded(&v1alpha1.GetResponse{}), true},
		"an answer without events":      {&v1alpha1.WatchResponse{}, false},
		"events, not all encoded":       {encoded(&v1alpha1.WatchResponse{Event: []*v1alpha1.Event{{Resource: resource}}}), false},
		"an item of a list, in both":    {encoded(&v1alpha1.ListResponse{Resource: resource}), false},
		"a resource, in both":           {encoded(&v1alpha1.GetResponse{Resource: resource}), false},
		"a message of another service":  {encoded(&v1alpha1.DestroyRequest{Id: "a"}), false},
		"a message without any content": {&v1alpha1.GetRequest{}, false},
	} {
		got, err := Codec().Marshal(tt.msg)
		if err != nil {
			t.Fatal(name, err)
		}

		want, err := encoding.GetCodecV2("proto").Marshal(tt.msg)
		if err != nil {
			t.Fatal(name, err)
		}

		if !bytes.Equal(got.Materialize(), want.Materialize()) {
			t.Errorf("%s: got %x, want %x", name, got.Materialize(), want.Materialize())
		}

		if shared := len(got) == 1 && unsafe.SliceData(got[0].ReadOnlyData()) == unsafe.SliceData(frame); shared != tt.shared {
			t.Errorf("%s: shares the bytes: %v, want %v", name, shared, tt.shared)
		}
	}

	if _, err := Codec().Marshal("text"); err == nil {
		t.Error("a text was encoded as a message")
	}
}

// BenchmarkCodec is an event of a typical size, encoded for one client.
func BenchmarkCodec(b *testing.B) {
	res := responseOf(make([]byte, 745))

	for name, c := range map[string]encoding.CodecV2{"ours": Codec(), "of gRPC": encoding.GetCodecV2("proto")} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()

			for b.Loop() {
				data, err := c.Marshal(res)
				if err != nil {
					b.Fatal(err)
				}

				data.Free()
			}
		})
	}
}

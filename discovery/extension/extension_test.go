// SPDX-License-Identifier: Apache-2.0

package extension_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestResponse checks that a message of ours is one of the protocol, and the other way round.
func TestResponse(t *testing.T) {
	raw := extension.AppendMember(nil, "a", []byte("data"), []string{"x", "y"})
	raw = append(raw, extension.AppendMember[string](nil, "b", nil, nil)...)
	raw = extension.AppendDeleted(raw)

	trailer := extension.Trailer{Sequence: 7, End: true, Buckets: 16, Covered: []uint32{0, 3}}
	ours := extension.AppendTrailer(raw, trailer)

	var got serverapi.WatchResponse
	if err := proto.Unmarshal(ours, &got); err != nil {
		t.Fatal(err)
	}

	got.ProtoReflect().SetUnknown(nil)

	want := &serverapi.WatchResponse{
		Deleted: true,
		Affiliates: []*serverapi.Affiliate{
			{Id: "a", Data: []byte("data"), Endpoints: [][]byte{[]byte("x"), []byte("y")}}, {Id: "b"},
		},
	}
	if !proto.Equal(want, &got) {
		t.Errorf("existing clients read %v, want %v", &got, want)
	}

	plain, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}

	members := []extension.Member{{ID: "a", Data: []byte("data"), Endpoints: [][]byte{[]byte("x"), []byte("y")}}, {ID: "b"}}

	for name, c := range map[string]struct {
		raw  []byte
		want extension.Response
	}{
		"of an existing service": {plain, extension.Response{Members: members, Deleted: true}},
		"of ours":                {ours, extension.Response{Members: members, Deleted: true, Placed: true, Trailer: trailer}},
	} {
		got, err := extension.DecodeResponse(c.raw)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestPlace(t *testing.T) {
	want := extension.Place{Boot: extension.Boot{1, 2, 255}, Sequence: 42}

	if got, err := extension.ParsePlace(want.String()); err != nil || got != want {
		t.Errorf("%s: parsed as %v, %v", want, got, err)
	}

	for _, text := range []string{"", "/", "00/1", want.String() + "x", "0" + want.String()} {
		if got, err := extension.ParsePlace(text); err == nil {
			t.Errorf("%q: parsed as %v", text, got)
		}
	}
}

func TestDigest(t *testing.T) {
	for members, want := range map[int]int{0: 16, 1: 16, 100: 64, 1000: 512, 5000: 2048, 1_000_000: 2048} {
		if got := extension.BucketsFor(members); got != want {
			t.Errorf("%d members: %d buckets, want %d", members, got, want)
		}
	}

	d := extension.Digest{Buckets: make([]uint32, 16)}
	d.Add(extension.Slot("a"), extension.Hash("a", []byte("1"), []string{"x"}))
	d.Add(extension.Slot("b"), extension.Hash("b", []byte("1"), []string{"x"}))

	got, err := extension.DecodeDigest(d.Encode())
	if diff := cmp.Diff(d, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}

	// The parts of a member cannot be exchanged.
	if extension.Hash("a", []byte("bc"), []string{"d"}) == extension.Hash("ab", []byte("c"), []string{"d"}) {
		t.Error("two members have one hash")
	}

	for _, n := range []int{0, 7, 8, 12, 8 + 4*17, 8 + 4*16 + 1, 8 + 4*4096} {
		if _, err := extension.DecodeDigest(make([]byte, n)); err == nil {
			t.Errorf("%d bytes are a digest", n)
		}
	}
}

// TestTooMuch: a message of some megabytes cannot fill the memory of the machine that decodes it.
func TestTooMuch(t *testing.T) {
	member := extension.AppendMember[string](nil, "a", nil, nil)
	endpoints := extension.AppendMember(nil, "a", nil, slices.Repeat([]string{"x"}, 2000))
	covered := extension.AppendTrailer(nil, extension.Trailer{Buckets: 16, Covered: make([]uint32, 2000)})

	for name, raw := range map[string][]byte{
		"members": bytes.Repeat(member, 100_000), "endpoints": endpoints, "buckets": bytes.Repeat(covered, 2),
	} {
		if _, err := extension.DecodeResponse(raw); err == nil {
			t.Errorf("%s: %d bytes are decoded", name, len(raw))
		}
	}

	if r, err := extension.DecodeResponse(bytes.Repeat(member, 20_000)); err != nil || len(r.Members) != 20_000 {
		t.Errorf("20,000 members: got %d, %v", len(r.Members), err)
	}
}

// FuzzDecode decodes what a client or a service may be sent. Whatever is a WatchResponse is read as the protocol's own code reads it.
func FuzzDecode(f *testing.F) {
	f.Add(extension.AppendTrailer(extension.AppendMember(nil, "a", []byte("d"), []string{"x"}), extension.Trailer{Sequence: 1, End: true, Buckets: 16, Covered: []uint32{1}}), "")
	f.Add(extension.Digest{Buckets: make([]uint32, 16)}.Encode(), extension.Place{}.String())

	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		_, _ = extension.ParsePlace(text)

		if d, err := extension.DecodeDigest(raw); err == nil {
			if diff := cmp.Diff(raw, d.Encode()); diff != "" {
				t.Errorf("digest (-raw +encoded):\n%s", diff)
			}
		}

		got, err := extension.DecodeResponse(raw)
		if err != nil {
			return
		}

		var want serverapi.WatchResponse
		if proto.Unmarshal(raw, &want) != nil {
			return // text that is not UTF-8
		}

		if len(got.Members) != len(want.GetAffiliates()) || got.Deleted != want.GetDeleted() {
			t.Fatalf("decoded as %+v, want %v", got, &want)
		}

		for i, m := range got.Members {
			a := want.GetAffiliates()[i]
			if m.ID != a.GetId() || string(m.Data) != string(a.GetData()) || len(m.Endpoints) != len(a.GetEndpoints()) {
				t.Fatalf("member %d is %+v, want %v", i, m, a)
			}
		}
	})
}

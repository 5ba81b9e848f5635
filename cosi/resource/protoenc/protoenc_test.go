// SPDX-License-Identifier: Apache-2.0

package protoenc_test

import (
	"bytes"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
)

type enum int32

type nested struct {
	Name  string   `protobuf:"1"`
	Inner []nested `protobuf:"2"` // a type may contain itself
}

// Embedded gives its fields to the struct around it.
type Embedded struct {
	Flag bool `protobuf:"40"`
}

// hex is a type with its own binary form.
type hex struct{ b byte }

func (h hex) MarshalBinary() ([]byte, error) { return []byte{h.b}, nil }

func (h *hex) UnmarshalBinary(b []byte) error {
	if len(b) != 1 {
		return fmt.Errorf("%d bytes", len(b))
	}

	h.b = b[0]

	return nil
}

// own encodes itself as a message.
type own struct{ v string }

func (o own) MarshalProto() ([]byte, error) {
	return protowire.AppendString(protowire.AppendTag(nil, 7, protowire.BytesType), o.v), nil
}

func (o *own) UnmarshalProto(b []byte) error {
	_, _, n := protowire.ConsumeTag(b)
	if n < 0 {
		return protowire.ParseError(n)
	}

	s, m := protowire.ConsumeString(b[n:])
	o.v = s

	if m < 0 {
		return protowire.ParseError(m)
	}

	return nil
}

type everything struct {
	Bool     bool              `protobuf:"1"`
	Int      int               `protobuf:"2"`
	Int8     int8              `protobuf:"3"`
	Uint32   uint32            `protobuf:"4"`
	Uint64   uint64            `protobuf:"5"`
	Enum     enum              `protobuf:"6"`
	Float32  float32           `protobuf:"7"`
	Float64  float64           `protobuf:"8"`
	String   string            `protobuf:"9"`
	Bytes    []byte            `protobuf:"10"`
	Array    [3]byte           `protobuf:"11"`
	Nested   nested            `protobuf:"12"`
	Pointer  *nested           `protobuf:"13"`
	Maybe    *bool             `protobuf:"14"`
	Strings  []string          `protobuf:"15"`
	Ints     []int64           `protobuf:"16"`
	Enums    []enum            `protobuf:"17"`
	Bools    []bool            `protobuf:"18"`
	Floats   []float64         `protobuf:"19"`
	Blobs    [][]byte          `protobuf:"20"`
	List     []nested          `protobuf:"21"`
	Pointers []*nested         `protobuf:"22"`
	Map      map[string]string `protobuf:"23"`
	Numbers  map[int32]bool    `protobuf:"24"`
	Messages map[string]nested `protobuf:"25"`
	Time     time.Time         `protobuf:"26"`
	Duration time.Duration     `protobuf:"27"`
	Addr     netip.Addr        `protobuf:"28"`
	Port     netip.AddrPort    `protobuf:"29"`
	Prefix   netip.Prefix      `protobuf:"30"`
	Addrs    []netip.Addr      `protobuf:"31"`
	URL      url.URL           `protobuf:"32"`
	URLPtr   *url.URL          `protobuf:"33"`
	Free     map[string]any    `protobuf:"34"`
	Any      any               `protobuf:"35"`
	Hex      hex               `protobuf:"36"`
	Own      own               `protobuf:"37"`
	FreeList []map[string]any  `protobuf:"38"`
	Embedded
	Untagged chan int
}

func full() everything {
	yes := true
	link, _ := url.Parse("https://example.org:6443/a?b=c") // it is well-formed

	return everything{
		Bool: true, Int: -5, Int8: -128, Uint32: math.MaxUint32, Uint64: math.MaxUint64, Enum: -400,
		Float32: 1.5, Float64: -2.25, String: "☃", Bytes: []byte{0, 255}, Array: [3]byte{1, 2, 3},
		Nested: nested{Name: "n", Inner: []nested{{Name: "deep"}, {}}}, Pointer: &nested{}, Maybe: &yes,
		Strings: []string{"a", "", "b"}, Ints: []int64{0, -1, 1 << 40}, Enums: []enum{1, 2}, Bools: []bool{true, false},
		Floats: []float64{0, 1}, Blobs: [][]byte{{1}, {}}, List: []nested{{Name: strings.Repeat("x", 300)}, {}},
		Pointers: []*nested{{Name: "p"}}, Map: map[string]string{"k": "v", "": "empty"},
		Numbers: map[int32]bool{-1: true, 2: false}, Messages: map[string]nested{"m": {Name: "in map"}},
		Time: time.Unix(1700000000, 123).UTC(), Duration: -90*time.Second - 5, Addr: netip.MustParseAddr("10.0.0.1"),
		Port: netip.MustParseAddrPort("[fe80::1%eth0]:443"), Prefix: netip.MustParsePrefix("2001:db8::/32"),
		Addrs: []netip.Addr{netip.MustParseAddr("::1"), {}}, URL: *link, URLPtr: link,
		Free: map[string]any{"s": "x", "n": 1.5, "b": true, "z": nil, "l": []any{"a", 2.0}, "m": map[string]any{"k": "v"}},
		Any:  []any{nil, "x"}, Hex: hex{7}, Own: own{"mine"}, FreeList: []map[string]any{{"a": "b"}},
		Embedded: Embedded{Flag: true}, Untagged: make(chan int),
	}
}

func TestRoundTrip(t *testing.T) {
	for name, in := range map[string]everything{"full": full(), "zero": {}} {
		b, err := protoenc.Marshal(&in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		var out everything
		if err := protoenc.Unmarshal(b, &out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		in.Untagged = nil

		if diff := cmp.Diff(in, out, cmp.AllowUnexported(everything{}, hex{}, own{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
			cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}

		again, err := protoenc.Marshal(out)
		if err != nil || !bytes.Equal(b, again) {
			t.Errorf("%s: encoding again differs (%v)", name, err)
		}
	}

	if b, err := protoenc.Marshal(everything{}); b != nil || err != nil {
		t.Errorf("zero: got %x, %v, want nothing", b, err)
	}
}

// TestAgainstGenerated compares with what generated code writes and reads.
func TestAgainstGenerated(t *testing.T) {
	check := func(name string, ours any, theirs, empty proto.Message) {
		t.Helper()

		b, err := protoenc.Marshal(ours)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		if err := proto.Unmarshal(b, empty); err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		if diff := cmp.Diff(theirs, empty, protocmp.Transform()); diff != "" {
			t.Errorf("%s, ours read by them (-want +got):\n%s", name, diff)
		}

		raw, err := proto.Marshal(theirs)
		if err != nil {
			t.Fatal(err)
		}

		back := reflect.New(reflect.TypeOf(ours))
		if err := protoenc.Unmarshal(raw, back.Interface()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		if !reflect.DeepEqual(back.Elem().Interface(), ours) {
			t.Errorf("%s, decoded from generated code: got %+v, want %+v", name, back.Elem(), ours)
		}
	}

	type wrapTime struct {
		T time.Time     `protobuf:"1"`
		D time.Duration `protobuf:"2"`
	}

	at := time.Unix(-5, 7).UTC()
	raw := func(num protowire.Number, m proto.Message) []byte {
		b, _ := proto.Marshal(m) // it is sound

		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
	}

	var got wrapTime
	if err := protoenc.Unmarshal(append(raw(1, timestamppb.New(at)), raw(2, durationpb.New(-1500*time.Millisecond))...), &got); err != nil {
		t.Fatal(err)
	}

	if want := (wrapTime{at, -1500 * time.Millisecond}); got != want {
		t.Errorf("times: got %v, want %v", got, want)
	}

	ours, err := protoenc.Marshal(got)
	if err != nil || !bytes.Equal(ours, append(raw(1, timestamppb.New(at)), raw(2, durationpb.New(-1500*time.Millisecond))...)) {
		t.Errorf("times: got %x (%v)", ours, err)
	}

	check("NetIP", struct {
		IP []byte `protobuf:"1"`
	}{[]byte{10, 0, 0, 1}}, &common.NetIP{Ip: []byte{10, 0, 0, 1}}, &common.NetIP{})

	type prefixed struct {
		P netip.Prefix `protobuf:"1"`
	}

	b, err := protoenc.Marshal(prefixed{netip.MustParsePrefix("10.5.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}

	if want := raw(1, &common.NetIPPrefix{Ip: []byte{10, 5, 0, 0}, PrefixLength: 16}); !bytes.Equal(b, want) {
		t.Errorf("prefix: got %x, want %x", b, want)
	}

	s, err := structpb.NewStruct(map[string]any{"a": []any{1.0, "x", nil, true}, "m": map[string]any{"k": "v"}})
	if err != nil {
		t.Fatal(err)
	}

	var free struct {
		M map[string]any `protobuf:"1"`
	}

	if err := protoenc.Unmarshal(raw(1, s), &free); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(s.AsMap(), free.M); diff != "" {
		t.Errorf("struct (-want +got):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{struct {
			C chan int `protobuf:"1"`
		}{}, "C: type chan int has no protobuf form"},
		{struct {
			A int `protobuf:"1"`
			B int `protobuf:"1"`
		}{}, "A and B"},
		{struct {
			A int `protobuf:"0"`
		}{}, "expected a field number"},
		{struct {
			A int `protobuf:"x"`
		}{}, "expected a field number"},
		{struct {
			a int `protobuf:"1"` // the point
		}{}, "not exported"},
		{struct {
			M map[float64]int `protobuf:"1"`
		}{}, "a key is"},
		{struct {
			M map[string][]int `protobuf:"1"`
		}{}, "wrap the list"},
		{struct {
			L [][]string `protobuf:"1"`
		}{}, "no protobuf form"},
		{struct{ A int }{}, "no field has a protobuf tag"},
		{struct {
			F func() `protobuf:"1"`
		}{}, "no protobuf form"},
	} {
		err := protoenc.Check(reflect.TypeOf(tt.value))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: got %v, want %q", tt.value, err, tt.want)
		}
	}
}

func TestMalformed(t *testing.T) {
	field := func(num protowire.Number, wire protowire.Type, value ...byte) []byte {
		return append(protowire.AppendTag(nil, num, wire), value...)
	}

	msg := func(num protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), value)
	}

	deep := []byte{}
	for range protoenc.MaxDepth + 2 {
		deep = msg(2, deep)
	}

	for _, tt := range []struct {
		name string
		in   []byte
		want string
	}{
		{"truncated", []byte{0x08}, "unexpected EOF"},
		{"bad tag", []byte{0xff}, "field tag"},
		{"group", field(1, protowire.EndGroupType), "mismatching end group"},
		{"wrong wire type", field(9, protowire.VarintType, 1), "field String (9): wire type is 0, expected 2"},
		{"int8 out of range", field(3, protowire.VarintType, 0x80, 0x02), "out of range of int8"},
		{"uint32 out of range", field(4, protowire.VarintType, 0x80, 0x80, 0x80, 0x80, 0x10), "out of range of uint32"},
		{"not UTF-8", msg(9, []byte{0xff}), "is not UTF-8"},
		{"address of five bytes", msg(28, msg(1, []byte{1, 2, 3, 4, 5})), "address of 5 bytes"},
		{"port", msg(29, append(msg(1, []byte{1, 2, 3, 4}), field(2, protowire.VarintType, 0x80, 0x80, 0x04)...)), "port 65536"},
		{"prefix too long", msg(30, append(msg(1, []byte{1, 2, 3, 4}), field(2, protowire.VarintType, 33)...)), "prefix length 33"},
		{"array too short", msg(11, []byte{1}), "1 bytes, expected 3"},
		{"nanoseconds", msg(26, append(field(2, protowire.VarintType), protowire.AppendVarint(nil, 2e9)...)), "out of range"},
		{"seconds", msg(26, append(field(1, protowire.VarintType), protowire.AppendVarint(nil, 1<<62)...)), "out of range"},
		{"long duration", msg(27, append(field(1, protowire.VarintType), protowire.AppendVarint(nil, 1<<62)...)), "out of range"},
		{"url", msg(32, msg(1, []byte("http://[::1"))), "URL"},
		{"too deep", msg(12, deep), "deeper than"},
		{"map entry of a number", field(23, protowire.VarintType, 1), "wire type"},
		{"own", msg(37, []byte{0xff}), "Own"},
	} {
		var out everything

		err := protoenc.Unmarshal(tt.in, &out)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}

	if err := protoenc.Unmarshal(nil, everything{}); err == nil {
		t.Error("decoding into a value succeeded")
	}

	if _, err := protoenc.Marshal(struct {
		S string `protobuf:"1"`
	}{"\xff"}); err == nil {
		t.Error("encoding text that is not UTF-8 succeeded")
	}
}

// TestTolerance decodes messages that a newer or another encoder may send.
func TestTolerance(t *testing.T) {
	var out everything

	unpacked := protowire.AppendTag(nil, 16, protowire.VarintType)
	unpacked = protowire.AppendVarint(unpacked, 7)
	unknown := protowire.AppendFixed32(protowire.AppendTag(nil, 999, protowire.Fixed32Type), 1)
	split := protowire.AppendBytes(protowire.AppendTag(nil, 12, protowire.BytesType), nil)

	in := append(append(unpacked, unknown...), split...)
	if err := protoenc.Unmarshal(in, &out); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff([]int64{7}, out.Ints); diff != "" {
		t.Errorf("unpacked numbers (-want +got):\n%s", diff)
	}
}

func FuzzUnmarshal(f *testing.F) {
	seed, err := protoenc.Marshal(full())
	if err != nil {
		f.Fatal(err)
	}

	f.Add(seed)
	f.Add([]byte{})

	f.Fuzz(func(t *testing.T, b []byte) {
		var out everything
		if protoenc.Unmarshal(b, &out) != nil {
			return
		}

		enc, err := protoenc.Marshal(&out)
		if err != nil {
			t.Fatalf("a decoded value cannot be encoded: %v", err)
		}

		var again everything
		if err := protoenc.Unmarshal(enc, &again); err != nil {
			t.Fatalf("an encoded value cannot be decoded: %v", err)
		}

		if enc2, err := protoenc.Marshal(&again); err != nil || !bytes.Equal(enc, enc2) {
			t.Fatalf("encoding is not stable: %x, then %x (%v)", enc, enc2, err)
		}
	})
}

func BenchmarkMarshal(b *testing.B) {
	v := full()

	b.ReportAllocs()

	for b.Loop() {
		if _, err := protoenc.Marshal(&v); err != nil {
			b.Fatal(err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package protoenc encodes plain Go structs as protobuf messages. Tags of the form `protobuf:"N"` give the field numbers:
//
//	type RouteSpec struct {
//		Destination netip.Prefix  `protobuf:"1"`
//		Gateway     netip.Addr    `protobuf:"2"`
//		Priority    uint32        `protobuf:"3"`
//		Expires     time.Duration `protobuf:"4"`
//	}
//
// So the spec of a resource is one plain struct, without a generated second type and conversions. The wire form is that of
// a proto3 message with these fields:
//
//	bool, (u)int8…64, named integers  bool, varint (u)int32, (u)int64, enum; negative numbers as ten bytes
//	float32, float64                  float, double
//	string, []byte, [N]byte           string, bytes
//	struct, *struct                   message; the fields of an embedded struct without a tag are the outer's own
//	[]T                               repeated T, packed for numbers
//	map[K]V                           map<K, V>
//	map[string]any, any               google.protobuf.Struct, google.protobuf.Value
//	time.Time, time.Duration          google.protobuf.Timestamp, google.protobuf.Duration
//	netip.Addr, AddrPort, Prefix      {1 ip}, {1 ip, 2 port}, {1 ip, 2 prefix_length}
//	url.URL                           {1 full_path}
//	encoding.BinaryMarshaler          bytes
//	MarshalProto/UnmarshalProto       message that the type encodes itself
//
// A field with its zero value is left out. A non-nil pointer and an element of a list or map are always written. Unknown
// fields are skipped. Encoding is deterministic. A field without a tag is not encoded.
//
// Decoding accepts untrusted bytes: a value that does not fit (a number out of range, an address of five bytes, nesting
// deeper than MaxDepth) is an error that names the field.
package protoenc

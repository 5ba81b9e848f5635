// SPDX-License-Identifier: Apache-2.0

// Package protoenc encodes plain Go structs as protobuf messages, by `protobuf:"N"` tags that give field numbers:
//
//	type RouteSpec struct {
//		Destination netip.Prefix  `protobuf:"1"`
//		Gateway     netip.Addr    `protobuf:"2"`
//		Priority    uint32        `protobuf:"3"`
//		Expires     time.Duration `protobuf:"4"`
//	}
//
// It exists so that a resource's spec is one plain struct, with no generated twin and no conversion between the two.
// The wire form is that of a proto3 message whose fields are
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
//	MarshalProto/UnmarshalProto       message of the type's own making
//
// A field with its zero value is left out, except that a pointer which is not nil and an element of a list or map are
// always written. Unknown fields are skipped. Encoding is deterministic. A field without a tag is not encoded.
//
// Decoding takes bytes from anywhere: what does not fit (a number out of range, an address of five bytes, nesting deeper
// than MaxDepth) is an error that names the field.
package protoenc

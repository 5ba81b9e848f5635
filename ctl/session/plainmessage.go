// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/base64"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// plainItem converts an item of a list, a message or a value with a method Plain, into the types of JSON.
func plainItem(item any) map[string]any {
	switch item := item.(type) {
	case proto.Message:
		return PlainMessage(item.ProtoReflect())
	case interface{ Plain() map[string]any }:
		return item.Plain()
	default:
		panic(fmt.Sprintf("a %T has no plain form", item)) // an error in the program
	}
}

// PlainMessage converts a message into the types of JSON. It follows the JSON mapping of protobuf with two exceptions: 64-bit numbers
// stay numbers, so that scripts and paths can compare them, and the metadata of old servers is left out.
func PlainMessage(m protoreflect.Message) map[string]any {
	value := map[string]any{}
	fields := m.Descriptor().Fields()

	for i := range fields.Len() {
		field := fields.Get(i)

		switch {
		case field.Message() != nil && field.Message().FullName() == "common.Metadata":
		case field.IsList():
			items := []any{}
			for j := range m.Get(field).List().Len() {
				items = append(items, plainValue(field, m.Get(field).List().Get(j)))
			}

			value[field.JSONName()] = items
		case field.IsMap():
			entries := map[string]any{}

			for key, v := range m.Get(field).Map().Range {
				entries[key.String()] = plainValue(field.MapValue(), v)
			}

			value[field.JSONName()] = entries
		case m.Has(field) || !field.HasPresence():
			value[field.JSONName()] = plainValue(field, m.Get(field))
		}
	}

	return value
}

func plainValue(field protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch field.Kind() {
	case protoreflect.EnumKind:
		if known := field.Enum().Values().ByNumber(v.Enum()); known != nil {
			return string(known.Name())
		}

		return int32(v.Enum())
	case protoreflect.BytesKind:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		switch known := proto.Message(v.Message().Interface()).(type) {
		case *timestamppb.Timestamp:
			return known.AsTime().Format(time.RFC3339Nano)
		case *durationpb.Duration:
			return known.AsDuration().String()
		default:
			return PlainMessage(v.Message())
		}
	default:
		return v.Interface()
	}
}

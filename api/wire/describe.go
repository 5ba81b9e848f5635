// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"sort"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Describe prints what a peer can observe of the files: services with the kind of each call, messages with number, name and type
// of each field, and enums. It returns one sorted line for each, with full names.
func Describe(files []protoreflect.FileDescriptor) []string {
	var lines []string

	for _, file := range files {
		for i := range file.Services().Len() {
			lines = append(lines, describeService(file.Services().Get(i))...)
		}

		lines = append(lines, describeTypes(file)...)
	}

	sort.Strings(lines)

	return lines
}

// types is a file or a message: both contain messages and enums.
type types interface {
	Messages() protoreflect.MessageDescriptors
	Enums() protoreflect.EnumDescriptors
}

func describeTypes(in types) []string {
	var lines []string

	for i := range in.Enums().Len() {
		lines = append(lines, describeEnum(in.Enums().Get(i)))
	}

	for i := range in.Messages().Len() {
		message := in.Messages().Get(i)
		if message.IsMapEntry() {
			continue
		}

		lines = append(lines, describeMessage(message))
		lines = append(lines, describeTypes(message)...)
	}

	return lines
}

func describeService(service protoreflect.ServiceDescriptor) []string {
	var lines []string

	for i := range service.Methods().Len() {
		method := service.Methods().Get(i)
		line := fmt.Sprintf("rpc %s( %s%s ) -> %s%s", method.FullName(),
			mark(method.IsStreamingClient(), "stream "), method.Input().FullName(),
			mark(method.IsStreamingServer(), "stream "), method.Output().FullName())
		options, _ := method.Options().(*descriptorpb.MethodOptions)
		lines = append(lines, line+mark(options.GetDeprecated(), " (deprecated)"))
	}

	return lines
}

func describeEnum(enum protoreflect.EnumDescriptor) string {
	values := make([]string, enum.Values().Len())
	for i := range values {
		value := enum.Values().Get(i)
		values[i] = fmt.Sprintf("%d %s", value.Number(), value.Name())
	}

	return fmt.Sprintf("enum %s { %s }", enum.FullName(), strings.Join(values, " | "))
}

func describeMessage(message protoreflect.MessageDescriptor) string {
	fields := make([]string, message.Fields().Len())
	for i := range fields {
		fields[i] = describeField(message.Fields().Get(i))
	}

	var reserved string

	for i := range message.ReservedRanges().Len() {
		r := message.ReservedRanges().Get(i)
		reserved += fmt.Sprintf(" [unused numbers %d-%d]", r[0], r[1]-1)
	}

	return fmt.Sprintf("%s { %s%s }", message.FullName(), strings.Join(fields, " | "), reserved)
}

func describeField(field protoreflect.FieldDescriptor) string {
	kind := typeName(field)

	switch {
	case field.IsMap():
		kind = fmt.Sprintf("map<%s,%s>", typeName(field.MapKey()), typeName(field.MapValue()))
	case field.IsList():
		kind = "[]" + kind
	case field.HasOptionalKeyword():
		kind = "optional " + kind
	}

	oneof := field.ContainingOneof()
	options, _ := field.Options().(*descriptorpb.FieldOptions)

	return fmt.Sprintf("%d %s: %s%s%s", field.Number(), field.Name(), kind,
		mark(oneof != nil && !oneof.IsSynthetic(), " (oneof)"), mark(options.GetDeprecated(), " (deprecated)"))
}

func typeName(field protoreflect.FieldDescriptor) string {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return string(field.Message().FullName())
	case protoreflect.EnumKind:
		return string(field.Enum().FullName())
	default:
		return field.Kind().String()
	}
}

func mark(set bool, text string) string {
	if set {
		return text
	}

	return ""
}

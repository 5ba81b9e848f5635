// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	// Linked for the descriptors of the services whose answers are combined.
	_ "github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/api/common"
	_ "github.com/seed-59268b81/talos/api/inspect"
	_ "github.com/seed-59268b81/talos/api/machine"
	_ "github.com/seed-59268b81/talos/api/storage"
	_ "github.com/seed-59268b81/talos/api/time"
	_ "github.com/seed-59268b81/talos/api/trial"
)

// Answers of many nodes are combined without decoding them, by two properties of protocol buffers. A reply is
// {repeated messages = 1}, and the bytes of two replies, concatenated, are the reply with the messages of both. In each
// message, as in each frame of a stream, field 1 is the metadata: a field that is appended to the bytes of a message is merged
// into its metadata.
const (
	fieldMessages = protowire.Number(1)
	fieldMetadata = protowire.Number(1)
)

// aggregates reports whether the answers of a method can be combined.
func aggregates(method string) bool {
	return slices.ContainsFunc([]string{
		"/machine.MachineService/", "/cluster.ClusterService/", "/inspect.InspectService/", "/storage.StorageService/", "/time.TimeService/",
		"/trial.TrialService/",
	}, func(service string) bool { return strings.HasPrefix(method, service) })
}

// answersInFrames reports whether a method answers with a stream. A method that is unknown here, of a newer node, shows it by
// its name.
func answersInFrames(method string) bool {
	if m := describe(method); m != nil {
		return m.IsStreamingServer()
	}

	return strings.HasSuffix(method, "Stream")
}

// isUnary reports whether a method has one request and one answer. It returns false for unknown methods.
func isUnary(method string) bool {
	m := describe(method)

	return m != nil && !m.IsStreamingServer() && !m.IsStreamingClient()
}

func describe(method string) protoreflect.MethodDescriptor {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))

	d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil
	}

	m, _ := d.(protoreflect.MethodDescriptor)

	return m
}

// metadataField returns the field with the node of a message and, if the node has no answer, its error.
func metadataField(node string, err error) []byte {
	m := &common.Metadata{Hostname: strings.ToValidUTF8(node, "?")}

	if err != nil {
		s := status.Convert(err).Proto()
		s.Message = strings.ToValidUTF8(s.GetMessage(), "?")
		m.Error, m.Status = s.GetMessage(), s
	}

	raw, err := proto.Marshal(m)
	if err != nil {
		// The details of a node's status may be damaged.
		m.Status.Details = nil
		raw, _ = proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	}

	return protowire.AppendBytes(protowire.AppendTag(nil, fieldMetadata, protowire.BytesType), raw)
}

// tagFrame adds the node to a frame of a stream.
func tagFrame(data mem.BufferSlice, node string) (mem.BufferSlice, error) {
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool()) // the same bytes, if they are in one buffer
	defer whole.Free()

	if err := checkMessage(whole.ReadOnlyData()); err != nil {
		return nil, damaged(err)
	}

	return append(data, mem.SliceBuffer(metadataField(node, nil))), nil
}

// tagReply adds the node to each message of a reply.
func tagReply(reply []byte, node string) ([]byte, error) {
	field := metadataField(node, nil)
	out := make([]byte, 0, len(reply)+len(field)+protowire.SizeVarint(uint64(len(reply))))
	messages := 0

	for len(reply) > 0 {
		number, kind, n := protowire.ConsumeTag(reply)
		if n < 0 {
			return nil, damaged(protowire.ParseError(n))
		}

		value := protowire.ConsumeFieldValue(number, kind, reply[n:])
		if value < 0 {
			return nil, damaged(protowire.ParseError(value))
		}

		whole := reply[:n+value]
		reply = reply[n+value:]

		if number != fieldMessages || kind != protowire.BytesType {
			out = append(out, whole...)

			continue
		}

		message, _ := protowire.ConsumeBytes(whole[n:])
		if err := checkMessage(message); err != nil {
			return nil, damaged(err)
		}

		out = appendMessage(out, message, field)
		messages++
	}

	if messages == 0 {
		out = appendMessage(out, nil, field)
	}

	return out, nil
}

func appendMessage(out, message, field []byte) []byte {
	out = protowire.AppendTag(out, fieldMessages, protowire.BytesType)
	out = protowire.AppendVarint(out, uint64(len(message)+len(field)))

	return append(append(out, message...), field...)
}

// errorReply returns a reply that consists of a node's error.
func errorReply(node string, err error) []byte {
	return appendMessage(nil, nil, metadataField(node, err))
}

// checkMessage checks that bytes are a sequence of fields, so that damage of one answer does not spread to the others. It does
// not look into the fields.
func checkMessage(message []byte) error {
	for len(message) > 0 {
		_, _, n := protowire.ConsumeField(message)
		if n < 0 {
			return protowire.ParseError(n)
		}

		message = message[n:]
	}

	return nil
}

func damaged(err error) error {
	return status.Error(codes.Internal, fmt.Sprintf("the node's answer is damaged: %v", err))
}

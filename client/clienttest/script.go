// SPDX-License-Identifier: Apache-2.0

package clienttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Script is the answer of a node to one method, for any request.
type Script struct {
	// Answers are sent in order; a unary call has one.
	Answers []proto.Message
	// Err ends the call after the answers.
	Err error
	// Hang keeps the call open after the answers, until the client ends it.
	Hang bool
}

// Answer is a script of answers only.
func Answer(messages ...proto.Message) Script { return Script{Answers: messages} }

// Requests returns the requests that the node received for a method of its Scripts, in order.
func (n *Node) Requests(method string) []proto.Message {
	n.mu.Lock()
	defer n.mu.Unlock()

	return slices.Clone(n.requests[method])
}

func (n *Node) record(method string, request proto.Message) {
	n.mu.Lock()
	defer n.mu.Unlock()

	if n.requests == nil {
		n.requests = map[string][]proto.Message{}
	}

	n.requests[method] = append(n.requests[method], request)
}

// unary answers unary calls that the node has a script for.
func unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	n := nodeOf(ctx)

	script, ok := n.Scripts[strings.TrimPrefix(info.FullMethod, "/")]
	if !ok {
		return next(ctx, request)
	}

	n.record(strings.TrimPrefix(info.FullMethod, "/"), request.(proto.Message))

	if len(script.Answers) == 0 || script.Hang {
		return nil, script.end(ctx)
	}

	return script.Answers[0], script.Err
}

// stream is unary for streams.
func stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if _, ok := nodeOf(stream.Context()).Scripts[strings.TrimPrefix(info.FullMethod, "/")]; !ok {
		return next(server, stream)
	}

	return unknown(server, stream)
}

// unknown answers calls of services that are not registered, by script.
func unknown(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	name, _ := grpc.MethodFromServerStream(stream)
	full, n := strings.TrimPrefix(name, "/"), nodeOf(ctx)

	script, ok := n.Scripts[full]
	if !ok {
		return status.Errorf(codes.Unimplemented, "method %s is not in the node's scripts", full)
	}

	method, err := describe(full)
	if err != nil {
		return err
	}

	request, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
	if err != nil {
		return err
	}

	for {
		m := request.New().Interface()

		err := stream.RecvMsg(m)
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			return err
		}

		n.record(full, m)

		// In a bidirectional stream the node answers the first request.
		if !method.IsStreamingClient() || method.IsStreamingServer() {
			break
		}
	}

	for _, m := range script.Answers {
		if err := stream.SendMsg(m); err != nil {
			return err
		}
	}

	return script.end(ctx)
}

func (s Script) end(ctx context.Context) error {
	if s.Hang {
		<-ctx.Done()

		return ctx.Err()
	}

	return s.Err
}

func describe(full string) (protoreflect.MethodDescriptor, error) {
	service, name, _ := strings.Cut(full, "/")

	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + name))
	if err != nil {
		return nil, fmt.Errorf("find method %s: %w", full, err)
	}

	method, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is not a method", full)
	}

	return method, nil
}

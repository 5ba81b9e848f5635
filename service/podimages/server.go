// SPDX-License-Identifier: Apache-2.0

//go:build linux

package podimages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/imagerules"
)

const (
	service    = "/runtime.v1.ImageService/"
	pullMethod = service + "PullImage"
	// maxMessage is the limit of the kubelet and of containerd, in bytes.
	maxMessage = 16 << 20
)

// refusedPrefix makes the kubelet report the reason SignatureValidationFailed. It looks for it at the beginning of errors with the code Unknown.
const refusedPrefix = "SignatureValidationFailed: "

// Server passes calls on to containerd.
type Server struct {
	// Containerd is the path of its socket.
	Containerd string
	Log        *slog.Logger

	// Registries are how images are verified, the machine's own by default.
	Registries container.Access
}

// Options returns the options of a gRPC server that has no other service.
func (s *Server) Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.UnknownServiceHandler(s.handle), grpc.ForceServerCodecV2(codec{}),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
	}
}

// bidirectional describes every call.
var bidirectional = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

func (s *Server) handle(_ any, in grpc.ServerStream) error {
	method, ok := grpc.MethodFromServerStream(in)
	if !ok || !strings.HasPrefix(method, service) {
		return status.Errorf(codes.Unimplemented, "%s: only the image service of CRI is here", method)
	}

	// A connection to a Unix socket costs nothing, and containerd may have been restarted since the last one.
	conn, err := grpc.NewClient("unix://"+s.Containerd, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(
		grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.ForceCodecV2(codec{}),
	))
	if err != nil {
		return status.Errorf(codes.Unavailable, "connect to containerd at %s: %v", s.Containerd, err)
	}
	defer conn.Close()

	md, _ := metadata.FromIncomingContext(in.Context())
	md = md.Copy()
	md.Delete(":authority")

	ctx := metadata.NewOutgoingContext(in.Context(), md)

	if method == pullMethod {
		return s.pull(ctx, conn, in)
	}

	return forward(ctx, conn, in, method)
}

// pull verifies the image of a pull, and has containerd pull what was verified.
func (s *Server) pull(ctx context.Context, conn *grpc.ClientConn, in grpc.ServerStream) error {
	var request, response []byte
	if err := in.RecvMsg(&request); err != nil {
		return err
	}

	p, err := parse(request)
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "pull image: %v", err)
	}

	name, decision, err := s.Registries.Ruled(p.image)
	if err != nil {
		return status.Errorf(codes.Unknown, "pull image %s: %v", p.image, err)
	}

	digested := ""

	if decision.Action == imagerules.Refuse || decision.Action == imagerules.Verify {
		verdict, err := s.Registries.Verify(ctx, name, p.login)
		if err != nil {
			return s.refuse(name, err)
		}

		if digested = verdict.Pinned(); digested != name {
			if request, err = withImage(request, digested); err != nil {
				return status.Errorf(codes.InvalidArgument, "pull image: %v", err)
			}
		}

		s.Log.Info("image may be pulled", "image", name, "digest", verdict.Digest, "verified", verdict.Verified, "why", verdict.Why)
	}

	if err := conn.Invoke(ctx, pullMethod, &request, &response); err != nil {
		return err
	}

	// containerd knows the image by its digest now. The kubelet asks for the name of the pod.
	if digested != "" && digested != name {
		if err := container.Tag(ctx, s.Containerd, name, digested); err != nil {
			return status.Errorf(codes.Unknown, "pull image %s: %v", name, err)
		}
	}

	return in.SendMsg(&response)
}

func (s *Server) refuse(name string, err error) error {
	s.Log.Warn("image is not pulled", "image", name, "error", err)

	if errors.Is(err, container.ErrRefused) {
		return status.Error(codes.Unknown, refusedPrefix+err.Error())
	}

	return status.Error(codes.Unknown, fmt.Sprintf("pull image: %v", err))
}

// forward passes a call on, and its answer back.
func forward(ctx context.Context, conn *grpc.ClientConn, in grpc.ServerStream, method string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	out, err := conn.NewStream(ctx, bidirectional, method)
	if err != nil {
		return err
	}

	sent := guard.Go(func() error { return requests(in, out) })
	err = responses(out, in)
	in.SetTrailer(out.Trailer())

	if err != nil {
		select {
		case cause := <-sent:
			if cause != nil && status.Code(err) == codes.Canceled {
				return cause
			}
		default:
		}
	}

	return err
}

func requests(in grpc.ServerStream, out grpc.ClientStream) error {
	for {
		var message []byte

		err := in.RecvMsg(&message)
		if errors.Is(err, io.EOF) {
			return out.CloseSend()
		}

		if err != nil {
			return err
		}

		if err := out.SendMsg(&message); err != nil {
			return nil // responses gets the status
		}
	}
}

func responses(out grpc.ClientStream, in grpc.ServerStream) error {
	header, err := out.Header()
	if err != nil {
		return err
	}

	if err := in.SetHeader(header); err != nil {
		return err
	}

	for {
		var message []byte

		err := out.RecvMsg(&message)
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}

		if err := in.SendMsg(&message); err != nil {
			return err
		}
	}
}

// codec passes messages through, undecoded.
type codec struct{}

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("the image service passes bytes on, got a %T", v)
	}

	return mem.BufferSlice{mem.SliceBuffer(*message)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("the image service passes bytes on, got a %T", v)
	}

	*message = data.Materialize()

	return nil
}

// Name implements encoding.CodecV2: the content type stays that of protobuf.
func (codec) Name() string { return "proto" }

// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Router passes calls on. It is the handler of every service.
type Router struct {
	view     atomic.Pointer[View]
	backends *backends
	log      *slog.Logger
}

// NewRouter returns a router whose local backend is machined's socket.
func NewRouter(log *slog.Logger, socket string) *Router {
	return &Router{backends: newBackends(socket), log: log}
}

// SetView replaces what the router knows.
func (r *Router) SetView(v *View) {
	r.view.Store(v)
	r.backends.use(v)
}

// View returns what the router knows, nil before the first SetView.
func (r *Router) View() *View { return r.view.Load() }

// Close ends the connections to the backends.
func (r *Router) Close() { r.backends.close() }

// Server returns the gRPC server that routes.
func (r *Router) Server(opts ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append([]grpc.ServerOption{
		grpc.ForceServerCodecV2(codec{}),
		grpc.UnknownServiceHandler(r.handle),
		grpc.MaxRecvMsgSize(maxMessage),
	}, opts...)...)
}

// maxMessage in bytes; what existing clients and servers agree on.
const maxMessage = 32 << 20

// handle is the stream handler of every call.
func (r *Router) handle(_ any, in grpc.ServerStream) error {
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()

	method, ok := grpc.MethodFromServerStream(in)
	if !ok {
		return status.Error(codes.Internal, "the stream has no method")
	}

	conn, out, err := r.direct(ctx)
	if err != nil {
		return err
	}

	stream, err := conn.NewStream(out, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method, grpc.ForceCodecV2(codec{}))
	if err != nil {
		return err
	}

	sent := make(chan error, 1)
	go func() { sent <- forwardRequests(in, stream) }()

	err = forwardResponses(stream, in)
	in.SetTrailer(stream.Trailer())

	if err == nil {
		return nil
	}

	// When the caller broke off, its own error is the cause.
	select {
	case cause := <-sent:
		if cause != nil && status.Code(err) == codes.Canceled {
			return cause
		}
	default:
	}

	return err
}

func forwardRequests(in grpc.ServerStream, out grpc.ClientStream) error {
	for {
		f := &frame{}

		err := in.RecvMsg(f)
		if errors.Is(err, io.EOF) {
			return out.CloseSend()
		}

		if err != nil {
			return err
		}

		if err := out.SendMsg(f); err != nil {
			return nil // the response side has the status
		}
	}
}

func forwardResponses(out grpc.ClientStream, in grpc.ServerStream) error {
	header, err := out.Header()
	if err != nil {
		return err
	}

	if err := in.SetHeader(header); err != nil {
		return err
	}

	for {
		f := &frame{}

		err := out.RecvMsg(f)
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}

		if err := in.SendMsg(f); err != nil {
			return err
		}
	}
}

// direct chooses where a call goes and the metadata that goes with it.
func (r *Router) direct(ctx context.Context) (*grpc.ClientConn, context.Context, error) {
	view := r.View()
	if view == nil {
		return nil, nil, status.Error(codes.Unavailable, errNotReady.Error())
	}

	md, _ := metadata.FromIncomingContext(ctx)

	roles, err := rolesOf(ctx, view, md)
	if err != nil {
		return nil, nil, err
	}

	target, err := targetOf(md)
	if err != nil {
		return nil, nil, err
	}

	out := md.Copy()
	for _, key := range []string{":authority", keyNode, keyNodes, keyRole} {
		out.Delete(key)
	}

	out.Set(keyRole, roles...)

	if target == "" || len(md.Get(keyProxyFrom)) > 0 || view.Local(target) {
		conn, err := r.backends.local()

		return conn, metadata.NewOutgoingContext(ctx, out), err
	}

	switch {
	case view.NoRouting:
		return nil, nil, status.Errorf(codes.FailedPrecondition,
			"call to node %s: this node is in maintenance mode and does not forward; use the node's own address as the endpoint", target)
	case view.Client == nil:
		return nil, nil, status.Errorf(codes.PermissionDenied,
			"call to node %s: this node is a worker and does not forward; use a control plane node as the endpoint", target)
	}

	out.Append(keyProxyFrom, md.Get(":authority")...)

	conn, err := r.backends.remote(target)

	return conn, metadata.NewOutgoingContext(ctx, out), err
}

// targetOf returns the node that a call is for, empty for this one.
func targetOf(md metadata.MD) (string, error) {
	node, nodes := md.Get(keyNode), md.Get(keyNodes)

	switch {
	case len(node) > 1 || len(node) == 1 && len(nodes) > 0:
		return "", status.Errorf(codes.InvalidArgument, "the metadata names several nodes (%q): give one `node` for each call", append(node, nodes...))
	case len(node) == 1:
		return node[0], nil
	case len(nodes) == 1:
		return nodes[0], nil
	case len(nodes) > 1:
		return "", status.Errorf(codes.Unimplemented, "one call to several nodes (%q): give one `node` for each call", nodes)
	default:
		return "", nil
	}
}

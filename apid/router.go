// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
)

// Router forwards calls. It is the handler of every service.
type Router struct {
	view     atomic.Pointer[View]
	backends *backends
	pressure *pressure
	callers  *callers
	log      *slog.Logger
	// stragglers is the constant, except in tests.
	stragglers time.Duration
}

// NewRouter returns a router whose local backend is machined's socket.
func NewRouter(log *slog.Logger, socket string) *Router {
	p := newPressure(log)

	r := &Router{backends: newBackends(socket, p.grow), pressure: p, log: log, stragglers: stragglers}
	r.callers = newCallers(r.View)

	return r
}

// SetView replaces the view. Callers that the new view does not admit are no longer served.
func (r *Router) SetView(v *View) {
	r.view.Store(v)
	r.backends.use(v)
	r.callers.look(v)
}

// View returns the present view, nil before the first SetView.
func (r *Router) View() *View { return r.view.Load() }

// Close closes the connections to the backends.
func (r *Router) Close() { r.backends.close() }

// bidirectional describes every call: apid forwards frames in both directions.
var bidirectional = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

// handle is the stream handler of every call.
func (r *Router) handle(_ any, in grpc.ServerStream) (err error) {
	defer r.recovered(&err)

	if c := connectionOf(in.Context()); c != nil {
		defer c.begin()()

		in = &counted{ServerStream: in, conn: c}
	}

	method, ok := grpc.MethodFromServerStream(in)
	if !ok {
		return status.Error(codes.Internal, "the stream has no method")
	}

	caller := r.callers.begin(in, method)
	defer caller.end()

	in = caller

	defer func() { err = caller.status(err) }()

	view := r.View() // not nil: without a view no handshake succeeds
	md, _ := metadata.FromIncomingContext(in.Context())

	roles, err := rolesOf(in.Context(), view, md)
	if err != nil {
		return err
	}

	caller.look()

	to, err := routeOf(view, md, method)
	if err != nil {
		return err
	}

	local := passedOn(in.Context(), md, roles)
	remote := forwarded(local, md.Get(":authority"))

	switch {
	case len(to.nodes) > 0:
		return r.toMany(in, method, view, local, remote, to.nodes)
	case to.node != "":
		return r.toOne(in, method, view, remote, to.node)
	default:
		return r.toOne(in, method, view, local, "")
	}
}

// recovered turns a panic into the error of its call. Other calls continue.
func (r *Router) recovered(err *error) {
	if p := recover(); p != nil {
		r.log.Error("API call panicked", "panic", p, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "the call failed in apid: %v (its log has the details)", p)
	}
}

// passedOn returns the metadata for machined, with the roles of the caller and the address from which the call came to this machine.
func passedOn(ctx context.Context, md metadata.MD, roles []string) metadata.MD {
	out := md.Copy()
	for _, key := range []string{":authority", contract.KeyNode, contract.KeyNodes, contract.KeyRole, contract.KeyPeer} {
		out.Delete(key)
	}

	out.Set(contract.KeyRole, roles...)

	if p, ok := peer.FromContext(ctx); ok {
		if addr, ok := p.Addr.(*net.TCPAddr); ok {
			out.Set(contract.KeyPeer, addr.AddrPort().Addr().Unmap().String())
		}
	}

	return out
}

// forwarded returns the metadata for another node, which serves the call and does not forward it.
func forwarded(md metadata.MD, from []string) metadata.MD {
	if len(from) == 0 {
		from = []string{"unknown"}
	}

	out := md.Copy()
	out.Set(contract.KeyProxyFrom, from...)

	return out
}

// connection returns the connection to a node, this one if empty, and a function to call after its use.
func (r *Router) connection(view *View, node string) (*grpc.ClientConn, func(), error) {
	if node == "" || view.Local(node) {
		conn, err := r.backends.local()

		return conn, func() {}, err
	}

	host, err := hostOf(node)
	if err != nil {
		return nil, nil, err
	}

	return r.backends.remote(host)
}

// toOne forwards a call to one backend, and its header, trailer and status back.
func (r *Router) toOne(in grpc.ServerStream, method string, view *View, md metadata.MD, node string) error {
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(in.Context(), md))
	defer cancel()

	conn, release, err := r.connection(view, node)
	if err != nil {
		return err
	}
	defer release()

	stream, err := conn.NewStream(ctx, bidirectional, method, grpc.ForceCodecV2(codec{}))
	if err != nil {
		return unreachable(node, err, nil, nil)
	}

	sent := make(chan error, 1)
	go func() { sent <- forwardRequests(in, stream) }()

	err = forwardResponses(stream, in)
	in.SetTrailer(stream.Trailer())

	if err == nil {
		return nil
	}

	// If the caller disconnected, its own error is the cause.
	select {
	case cause := <-sent:
		if cause != nil && status.Code(err) == codes.Canceled {
			return cause
		}
	default:
	}

	header, _ := stream.Header() // with the same error

	return unreachable(node, err, header, stream.Trailer())
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
			return nil // forwardResponses gets the status
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

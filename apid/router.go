// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
)

// Router passes calls on. It is the handler of every service.
type Router struct {
	view     atomic.Pointer[View]
	backends *backends
	pressure *pressure
	callers  *callers
	log      *slog.Logger
	// stragglers is how long answers wait for those of other nodes.
	stragglers time.Duration
}

// NewRouter returns a router whose local backend is machined's socket.
func NewRouter(log *slog.Logger, socket string) *Router {
	p := newPressure(log)

	r := &Router{backends: newBackends(socket, p.grow), pressure: p, log: log, stragglers: stragglers}
	r.callers = newCallers(r.View)

	return r
}

// SetView replaces what the router knows. Whoever would not be let in by it is no longer served.
func (r *Router) SetView(v *View) {
	r.view.Store(v)
	r.backends.use(v)
	r.callers.look(v)
}

// View returns what the router knows, nil before the first SetView.
func (r *Router) View() *View { return r.view.Load() }

// Close ends the connections to the backends.
func (r *Router) Close() { r.backends.close() }

// bidirectional is what every call is to apid: frames both ways.
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

	view := r.View() // there is one: without, no handshake succeeds
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

	local := passedOn(md, roles)
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

// recovered makes a panic in a call that call's error: the others go on.
func (r *Router) recovered(err *error) {
	if p := recover(); p != nil {
		r.log.Error("API call panicked", "panic", p, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "the call failed in apid: %v (its log has the details)", p)
	}
}

// passedOn is the metadata that goes with a call; the roles are those that the caller has.
func passedOn(md metadata.MD, roles []string) metadata.MD {
	out := md.Copy()
	for _, key := range []string{":authority", contract.KeyNode, contract.KeyNodes, contract.KeyRole} {
		out.Delete(key)
	}

	out.Set(contract.KeyRole, roles...)

	return out
}

// forwarded is the metadata that goes with a call to another node, which serves it and sends it no further.
func forwarded(md metadata.MD, from []string) metadata.MD {
	if len(from) == 0 {
		from = []string{"unknown"}
	}

	out := md.Copy()
	out.Set(contract.KeyProxyFrom, from...)

	return out
}

// connection returns the one to a node, and what to call when it is done with. Empty is this node.
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

// toOne passes a call to one backend, with header, trailer and status as they come.
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

	// When the caller broke off, its own error is the cause.
	select {
	case cause := <-sent:
		if cause != nil && status.Code(err) == codes.Canceled {
			return cause
		}
	default:
	}

	header, _ := stream.Header() // it is the same error

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

// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
)

// stragglers is how long to wait for the last nodes: at least this long, or ten times as long as the first answer took.
const stragglers = 30 * time.Second

// fanout is one call to many nodes. A node that fails, hangs or sends damaged data has an error as its answer, and does not
// affect the others.
type fanout struct {
	router *Router
	in     grpc.ServerStream
	method string
	frames bool // the answers are streams
	legs   []*leg

	sending sync.Mutex
}

// leg is the part of the call to one node.
type leg struct {
	node     string
	requests chan *frame
	done     chan struct{}
	metadata metadata.MD
}

func (r *Router) toMany(in grpc.ServerStream, method string, view *View, local, remote metadata.MD, nodes []string) error {
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()

	f := &fanout{router: r, in: in, method: method, frames: answersInFrames(method)}

	for _, node := range nodes {
		l := &leg{node: node, requests: make(chan *frame, 1), done: make(chan struct{}), metadata: remote}
		if view.Local(node) {
			l.metadata = local
		}

		f.legs = append(f.legs, l)
	}

	broken := make(chan error, 1)

	go func() {
		if err := f.distribute(ctx); err != nil {
			broken <- err

			cancel()
		}
	}()

	var err error
	if f.frames {
		err = f.merge(ctx, cancel, view)
	} else {
		err = f.collect(ctx, cancel, view)
	}

	// If the caller disconnected, that is the cause.
	select {
	case cause := <-broken:
		return cause
	default:
		return err
	}
}

// distribute passes each request to every node that still reads requests.
func (f *fanout) distribute(ctx context.Context) error {
	defer func() {
		for _, l := range f.legs {
			close(l.requests)
		}
	}()

	for {
		request := &frame{}

		err := f.in.RecvMsg(request)
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}

		for _, l := range f.legs {
			request.data.Ref()

			select {
			case l.requests <- &frame{data: request.data}:
			case <-l.done:
				request.data.Free()
			case <-ctx.Done():
				request.data.Free()
			}
		}

		request.data.Free()
	}
}

// open starts the call to one node and passes the requests on.
func (f *fanout) open(ctx context.Context, view *View, l *leg) (grpc.ClientStream, func(), error) {
	conn, release, err := f.router.connection(view, l.node)
	if err != nil {
		return nil, nil, err
	}

	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(ctx, l.metadata))

	stream, err := conn.NewStream(ctx, bidirectional, f.method, grpc.ForceCodecV2(codec{}))
	if err != nil {
		cancel()
		release()

		return nil, nil, unreachable(l.node, err, nil, nil)
	}

	sent := make(chan struct{})

	go func() {
		defer close(sent)

		l.send(ctx, stream)
	}()

	return stream, func() {
		cancel()
		close(l.done)
		<-sent
		release()
	}, nil
}

// send passes the requests on. The answer has the errors.
func (l *leg) send(ctx context.Context, stream grpc.ClientStream) {
	for {
		select {
		case <-ctx.Done():
			return
		case request, ok := <-l.requests:
			if !ok {
				_ = stream.CloseSend()

				return
			}

			if stream.SendMsg(request) != nil {
				return
			}
		}
	}
}

// answers calls one node and passes each frame of its answer to take. It returns at the end of the answer.
func (f *fanout) answers(ctx context.Context, view *View, l *leg, take func(mem.BufferSlice) error) error {
	stream, end, err := f.open(ctx, view, l)
	if err != nil {
		close(l.done)

		return err
	}
	defer end()

	for {
		answer := &frame{}

		err := stream.RecvMsg(answer)
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			header, _ := stream.Header() // with the same error

			return unreachable(l.node, err, header, stream.Trailer())
		}

		if err := take(answer.data); err != nil {
			return err
		}
	}
}

// merge passes on the frames of all nodes as they arrive, each with the name of its node.
func (f *fanout) merge(ctx context.Context, cancel func(), view *View) error {
	results := make(chan error, len(f.legs))

	for _, l := range f.legs {
		go func() {
			err := f.answers(ctx, view, l, func(data mem.BufferSlice) error {
				tagged, err := tagFrame(data, l.node)
				if err != nil {
					data.Free()

					return err
				}

				return f.send(tagged)
			})

			if err != nil && ctx.Err() == nil {
				err = f.send(mem.BufferSlice{mem.SliceBuffer(metadataField(l.node, err))})
			}

			results <- err
		}()
	}

	for range f.legs {
		if err := <-results; err != nil {
			cancel() // the caller has disconnected
		}
	}

	return status.FromContextError(f.in.Context().Err()).Err()
}

func (f *fanout) send(data mem.BufferSlice) error {
	f.sending.Lock()
	defer f.sending.Unlock()

	return f.in.SendMsg(&frame{data: data})
}

// collect waits for the replies of all nodes and sends them as one.
func (f *fanout) collect(ctx context.Context, cancel func(), view *View) error {
	type result struct {
		node  string
		reply []byte
		err   error
	}

	results := make(chan result, len(f.legs))
	start := time.Now()

	for _, l := range f.legs {
		go func() {
			r := result{node: l.node}
			r.err = f.answers(ctx, view, l, func(data mem.BufferSlice) (err error) {
				buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
				defer buf.Free()
				defer data.Free()

				r.reply, err = tagReply(buf.ReadOnlyData(), l.node)

				return err
			})

			if r.err == nil && r.reply == nil {
				r.err = status.Error(codes.Internal, "the node sent no answer")
			}

			results <- r
		}()
	}

	var (
		whole []byte
		late  <-chan time.Time
	)

	waiting := map[string]bool{}
	for _, l := range f.legs {
		waiting[l.node] = true
	}

	for len(waiting) > 0 {
		select {
		case <-f.in.Context().Done():
			return status.FromContextError(f.in.Context().Err()).Err()
		case r := <-results:
			delete(waiting, r.node)

			if r.err == nil && late == nil {
				late = time.After(max(f.router.stragglers, 10*time.Since(start)))
			}

			whole = appendReply(whole, r.node, r.reply, r.err)
		case <-late:
			cancel()

			for node := range waiting {
				whole = appendReply(whole, node, nil, status.Errorf(codes.DeadlineExceeded,
					"node %s: call: no answer after %s, while other nodes have answered; call it alone, and if it hangs, look at its console", node, time.Since(start).Round(time.Second)))
			}

			waiting = nil
		}
	}

	return f.send(mem.BufferSlice{mem.SliceBuffer(whole)})
}

// appendReply adds the answer of one node to the others'. Together they must fit into the largest message of a client.
func appendReply(whole []byte, node string, reply []byte, err error) []byte {
	if err == nil && len(whole)+len(reply) > contract.MaxMessage-maxErrors {
		err = status.Errorf(codes.ResourceExhausted, "node %s: the answers of all nodes together are larger than %d MiB; name fewer nodes in one call", node, contract.MaxMessage>>20)
	}

	if err != nil {
		reply = errorReply(node, err)
	}

	return append(whole, reply...)
}

// maxErrors is the size that is reserved for the errors of all nodes.
const maxErrors = 1 << 20

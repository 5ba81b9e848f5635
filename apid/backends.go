// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
)

const (
	// idle is when an unused connection to another node is closed, and idleDead when one that is not established is: a single
	// call must not make this node dial for ever.
	idle     = 15 * time.Minute
	idleDead = 30 * time.Second
	// dialTimeout limits a connection attempt. For retryDelay after a failure, calls get its error.
	dialTimeout = 5 * time.Second
	retryDelay  = 3 * time.Second
	// maxBackends limits the connections: a caller could name any number of nodes.
	maxBackends = 1024
)

// backends are the connections to machined and to other nodes. A connection is made at its first use, and closed when it is
// idle or when the certificates change.
type backends struct {
	socket string
	// address of a node's API.
	address func(node string) string
	// grow is called with the number of bytes that were received.
	grow func(bytes int)

	mu      sync.Mutex
	machine *grpc.ClientConn
	nodes   map[string]*nodeConn
	retired map[*nodeConn]struct{}
	view    *View
	closed  bool
}

// nodeConn is the connection to one node.
type nodeConn struct {
	*grpc.ClientConn

	calls int
	used  time.Time
	timer *time.Timer
}

func newBackends(socket string, grow func(bytes int)) *backends {
	return &backends{
		socket: socket, grow: grow, nodes: map[string]*nodeConn{}, retired: map[*nodeConn]struct{}{},
		address: func(node string) string { return net.JoinHostPort(node, strconv.Itoa(contract.APIPort)) },
	}
}

// use retires the connections that were made with other certificates. Running calls continue on them.
func (b *backends) use(v *View) {
	b.mu.Lock()
	defer b.mu.Unlock()

	changed := b.view == nil || b.view.Client != v.Client || b.view.CAs != v.CAs
	b.view = v

	if !changed {
		return
	}

	for node := range b.nodes {
		b.retire(node)
	}
}

// current returns the present view.
func (b *backends) current() *View {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.view
}

// retire removes the connection to a node from use. It closes after its last call.
func (b *backends) retire(node string) {
	n := b.nodes[node]
	delete(b.nodes, node)

	if n.calls == 0 {
		n.shut()

		return
	}

	b.retired[n] = struct{}{}
}

func (n *nodeConn) shut() {
	if n.timer != nil {
		n.timer.Stop()
	}

	n.Close()
}

func (b *backends) close() {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.closed = true

	if b.machine != nil {
		b.machine.Close()
	}

	for _, n := range b.nodes {
		n.shut()
	}

	for n := range b.retired {
		n.shut()
	}
}

func (b *backends) dialOptions(creds credentials.TransportCredentials) []grpc.DialOption {
	retry := backoff.DefaultConfig
	retry.BaseDelay, retry.MaxDelay = time.Second/4, retryDelay

	return []grpc.DialOption{
		grpc.WithTransportCredentials(backendCreds{creds, b.grow}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(contract.MaxMessage), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: retry, MinConnectTimeout: dialTimeout}),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), // a frame that was sent is not kept
		grpc.WithNoProxy(),
		grpc.WithIdleTimeout(idle),
	}
}

// local returns the connection to machined.
func (b *backends) local() (*grpc.ClientConn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.machine == nil {
		conn, err := grpc.NewClient("unix:"+b.socket, b.dialOptions(insecure.NewCredentials())...)
		if err != nil {
			return nil, status.Errorf(codes.Internal, "connect to machined at %s: %v", b.socket, err)
		}

		b.machine = conn
	}

	return b.machine, nil
}

// remote returns the connection to a node, and a function to call after its use.
func (b *backends) remote(node string) (conn *grpc.ClientConn, release func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	n := b.nodes[node]
	if n == nil {
		if n, err = b.dial(node); err != nil {
			return nil, nil, err
		}

		b.nodes[node] = n
	}

	n.calls++
	n.used = time.Now()

	if n.timer != nil {
		n.timer.Stop()
	}

	return n.ClientConn, sync.OnceFunc(func() { b.release(node, n) }), nil
}

func (b *backends) dial(node string) (*nodeConn, error) {
	if b.closed {
		return nil, status.Error(codes.Unavailable, "this node's API is shutting down")
	}

	if b.view == nil || b.view.Client == nil {
		// The certificates changed after the call was admitted.
		return nil, status.Errorf(codes.Unavailable, "node %s: this node has no client certificate at the moment; try again", node)
	}

	if len(b.nodes) >= maxBackends && !b.makeRoom() {
		return nil, status.Errorf(codes.ResourceExhausted, "node %s: this node forwards calls to %d other nodes already; try again, or use another endpoint", node, len(b.nodes))
	}

	options := append(b.dialOptions(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*b.view.Client}, RootCAs: b.view.CAs,
	})),
		// When a node dies with the connection open, a call fails after Timeout if data is unacknowledged (gRPC sets the
		// kernel's TCP_USER_TIMEOUT to it), and after Time and Timeout if the connection is silent.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingMin, Timeout: dialTimeout}),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return dialNode(ctx, b.current(), address)
		}))

	conn, err := grpc.NewClient("passthrough:///"+b.address(node), options...)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "node %q: %v", node, err)
	}

	return &nodeConn{ClientConn: conn}, nil
}

// makeRoom retires the connection that was unused for the longest time. It reports whether there was one.
func (b *backends) makeRoom() bool {
	oldest := ""

	for node, n := range b.nodes {
		if n.calls == 0 && (oldest == "" || n.used.Before(b.nodes[oldest].used)) {
			oldest = node
		}
	}

	if oldest == "" {
		return false
	}

	b.retire(oldest)

	return true
}

func (b *backends) release(node string, n *nodeConn) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if n.calls--; n.calls > 0 || b.closed {
		return
	}

	if _, retired := b.retired[n]; retired {
		delete(b.retired, n)
		n.shut()

		return
	}

	after := idle
	if n.GetState() != connectivity.Ready {
		after = idleDead
	}

	n.timer = time.AfterFunc(after, func() {
		b.mu.Lock()
		defer b.mu.Unlock()

		if b.nodes[node] == n && n.calls == 0 {
			b.retire(node)
		}
	})
}

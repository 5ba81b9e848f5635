// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"crypto/tls"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// idle is when the connection to another node is dropped.
const idle = 15 * time.Minute

// backends are the connections to machined and to other nodes, made when first used.
type backends struct {
	socket string

	mu      sync.Mutex
	machine *grpc.ClientConn
	nodes   map[string]*grpc.ClientConn
	retired map[*grpc.ClientConn]*time.Timer
	view    *View
}

func newBackends(socket string) *backends {
	return &backends{socket: socket, nodes: map[string]*grpc.ClientConn{}, retired: map[*grpc.ClientConn]*time.Timer{}}
}

// use drops the connections that were made with other certificates.
func (b *backends) use(v *View) {
	b.mu.Lock()
	defer b.mu.Unlock()

	changed := b.view == nil || b.view.Client != v.Client || b.view.CAs != v.CAs
	b.view = v

	if !changed {
		return
	}

	for target, conn := range b.nodes {
		delete(b.nodes, target)

		// Calls that run on it go on; it closes when they have had their time.
		b.retired[conn] = time.AfterFunc(idle, func() { b.drop(conn) })
	}
}

func (b *backends) drop(conn *grpc.ClientConn) {
	b.mu.Lock()
	defer b.mu.Unlock()

	delete(b.retired, conn)
	conn.Close() //nolint:errcheck
}

func (b *backends) close() {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.machine != nil {
		b.machine.Close() //nolint:errcheck
	}

	for _, conn := range b.nodes {
		conn.Close() //nolint:errcheck
	}

	for conn, timer := range b.retired {
		timer.Stop()
		conn.Close() //nolint:errcheck
	}
}

func dialOptions(creds credentials.TransportCredentials) []grpc.DialOption {
	retry := backoff.DefaultConfig
	retry.MaxDelay = 15 * time.Second

	return []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: retry, MinConnectTimeout: 5 * time.Second}),
		grpc.WithIdleTimeout(idle),
	}
}

func (b *backends) local() (*grpc.ClientConn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.machine == nil {
		conn, err := grpc.NewClient("unix:"+b.socket, dialOptions(insecure.NewCredentials())...)
		if err != nil {
			return nil, status.Errorf(codes.Internal, "connect to machined at %s: %v", b.socket, err)
		}

		b.machine = conn
	}

	return b.machine, nil
}

func (b *backends) remote(target string) (*grpc.ClientConn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if conn := b.nodes[target]; conn != nil {
		return conn, nil
	}

	address := target
	if _, _, err := net.SplitHostPort(target); err != nil {
		address = net.JoinHostPort(strings.Trim(target, "[]"), strconv.Itoa(Port))
	}

	conn, err := grpc.NewClient("passthrough:///"+address, dialOptions(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*b.view.Client}, RootCAs: b.view.CAs,
	}))...)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "call to node %q: %v", target, err)
	}

	b.nodes[target] = conn

	return conn, nil
}

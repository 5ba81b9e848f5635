// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/api/contract"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/inspect"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/api/storage"
	timeapi "github.com/seed-59268b81/talos/api/time"
	"github.com/seed-59268b81/talos/api/trial"
)

// Client is a connection to one or more endpoints. The generated clients are exported for calls that this package does not wrap.
type Client struct {
	Machine     machine.MachineServiceClient
	Cluster     cluster.ClusterServiceClient
	State       cosiapi.StateClient
	Storage     storage.StorageServiceClient
	FileSystems machine.StorageServiceClient // machine.StorageService, which is not storage.StorageService
	Clock       timeapi.TimeServiceClient
	Inspect     inspect.InspectServiceClient
	Images      machine.ImageServiceClient
	Lifecycle   machine.LifecycleServiceClient
	Debug       machine.DebugServiceClient
	LVM         machine.LVMServiceClient
	MD          machine.MDServiceClient
	Trials      trial.TrialServiceClient

	conn *grpc.ClientConn
}

// Option configures a Client.
type Option func(*settings) error

type settings struct {
	tls  *tls.Config
	dial []grpc.DialOption
}

// WithDialOptions passes options to gRPC, after the client's own.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) error {
		s.dial = append(s.dial, options...)

		return nil
	}
}

// New returns a client of the endpoints, each host, host:port or a bare IPv6 address. It connects at the first call.
// Authentication requires exactly one of WithCertificates, WithAuthority, WithTLS and WithInsecure.
func New(endpoints []string, options ...Option) (*Client, error) {
	if len(endpoints) == 0 {
		return nil, errors.New("no endpoints: name one with --endpoints, or set them with: talosctl config endpoint ADDRESS")
	}

	var s settings

	for _, option := range options {
		if err := option(&s); err != nil {
			return nil, err
		}
	}

	if s.tls == nil {
		return nil, errors.New("no client certificate: use a talosconfig that has one, or --insecure for a machine in maintenance")
	}

	builder, err := newResolver(endpoints)
	if err != nil {
		return nil, err
	}

	dial := append([]grpc.DialOption{
		grpc.WithTransportCredentials(alertCredentials{credentials.NewTLS(s.tls)}),
		grpc.WithResolvers(builder),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
			MinConnectTimeout: 10 * time.Second,
		}),
		// By default servers allow one ping in five minutes. Without pings, a stream of a dead endpoint would wait for ever.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5*time.Minute + 10*time.Second, Timeout: 20 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(contract.MaxMessage), grpc.MaxCallSendMsgSize(contract.MaxMessage)),
	}, s.dial...)

	conn, err := grpc.NewClient(builder.target(), dial...)
	if err != nil {
		return nil, fmt.Errorf("set up connection to %v: %w", endpoints, err)
	}

	return &Client{
		Machine:     machine.NewMachineServiceClient(conn),
		Cluster:     cluster.NewClusterServiceClient(conn),
		State:       cosiapi.NewStateClient(conn),
		Storage:     storage.NewStorageServiceClient(conn),
		FileSystems: machine.NewStorageServiceClient(conn),
		Clock:       timeapi.NewTimeServiceClient(conn),
		Inspect:     inspect.NewInspectServiceClient(conn),
		Images:      machine.NewImageServiceClient(conn),
		Lifecycle:   machine.NewLifecycleServiceClient(conn),
		Debug:       machine.NewDebugServiceClient(conn),
		LVM:         machine.NewLVMServiceClient(conn),
		MD:          machine.NewMDServiceClient(conn),
		Trials:      trial.NewTrialServiceClient(conn),
		conn:        conn,
	}, nil
}

// Conn returns the connection, for services that Client does not wrap.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Close closes the connection, which ends its calls.
func (c *Client) Close() error { return c.conn.Close() }

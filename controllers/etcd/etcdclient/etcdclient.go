// SPDX-License-Identifier: Apache-2.0

// Package etcdclient connects to etcd with this system's own certificate.
package etcdclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// TLS returns the configuration of a client of etcd.
func TLS(root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec) (*tls.Config, error) {
	pool, err := pki.Pool(root.EtcdCA.Crt)
	if err != nil {
		return nil, fmt.Errorf("etcd client: authority: %w", err)
	}

	pair, err := pki.Pair{Crt: certs.EtcdAdmin.Crt, Key: certs.EtcdAdmin.Key}.TLS()
	if err != nil {
		return nil, fmt.Errorf("etcd client: %w", err)
	}

	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, Certificates: []tls.Certificate{pair}}, nil
}

// New connects to the endpoints. The caller closes the client.
func New(ctx context.Context, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, endpoints ...string) (*clientv3.Client, error) {
	config, err := TLS(root, certs)
	if err != nil {
		return nil, err
	}

	client, err := clientv3.New(clientv3.Config{
		Context:              ctx,
		Endpoints:            endpoints,
		DialTimeout:          5 * time.Second,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 10 * time.Second,
		TLS:                  config,
		// The proxy of the environment is for servers outside of the cluster. A member that was down is soon tried again.
		DialOptions: []grpc.DialOption{grpc.WithNoProxy(), grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second}, MinConnectTimeout: 5 * time.Second,
		})},
		// Errors are returned with their cause; the client's own log would repeat them at each retry.
		Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("etcd client: connect to %v: %w", endpoints, err)
	}

	return client, nil
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// etcdTimeout is how long etcd may take to answer. Calls that read or write the whole database have etcdMaintenanceTimeout.
const (
	etcdTimeout            = 15 * time.Second
	etcdMaintenanceTimeout = 10 * time.Minute
)

// etcdEndpoint is this node's member.
var etcdEndpoint = contract.EtcdURL

// etcdCall runs fn with a connection to the local member; what names the call in errors.
func etcdCall[T any](
	ctx context.Context, s *Server, what string, timeout time.Duration, fn func(context.Context, *clientv3.Client) (T, error),
) (answer T, err error) {
	root, certs, err := s.etcdSecrets(ctx, what)
	if err != nil {
		return answer, err
	}

	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	client, err := etcdclient.New(ctx, root, certs, etcdEndpoint)
	if err != nil {
		return answer, status.Errorf(codes.Internal, "%s: %v", what, err)
	}
	defer client.Close()

	answer, err = fn(ctx, client)

	return answer, etcdError(what, timeout, err)
}

// etcdSecrets returns the certificates for etcd, which exist on a configured control plane node.
func (s *Server) etcdSecrets(ctx context.Context, what string) (root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, err error) {
	cfg, err := s.configuration(ctx, what)
	if err != nil {
		return root, certs, err
	}

	if !cfg.Type().IsControlPlane() {
		return root, certs, status.Errorf(codes.FailedPrecondition, "%s: etcd runs on control plane nodes only; call one of those", what)
	}

	ready, err := typed.All(typed.Read(ctx, s.State, secrets.EtcdRootID, &root), typed.Read(ctx, s.State, secrets.EtcdID, &certs))
	if err == nil && !ready {
		err = status.Errorf(codes.Unavailable, "%s: the certificates for etcd are not issued yet; see: talosctl get etcdsecrets", what)
	}

	return root, certs, err
}

// etcdError returns the error of a call to etcd, with etcd's own code if it has one.
func etcdError(what string, timeout time.Duration, err error) error {
	var answered rpctypes.EtcdError

	switch {
	case err == nil:
		return nil
	case errors.As(err, &answered):
		return status.Errorf(answered.Code(), "%s: %v", what, answered.Error())
	case errors.Is(err, context.Canceled):
		return status.FromContextError(err).Err()
	case errors.Is(err, context.DeadlineExceeded), status.Code(err) == codes.DeadlineExceeded:
		return status.Errorf(codes.DeadlineExceeded,
			"%s: etcd did not answer within %s: it is not running, or has no quorum; see: talosctl service etcd, talosctl logs etcd", what, timeout)
	}

	switch st, ok := status.FromError(err); {
	case !ok:
		return status.Errorf(codes.Internal, "%s: %v", what, err)
	case st.Code() == codes.Unavailable:
		return status.Errorf(codes.Unavailable, "%s: etcd does not answer: %s; see: talosctl service etcd", what, st.Message())
	default:
		return status.Errorf(st.Code(), "%s: %s", what, st.Message())
	}
}

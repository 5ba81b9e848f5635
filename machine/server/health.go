// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	clusterapi "github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/health"
	"github.com/seed-59268b81/talos/machine/healthsource"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// defaultHealthWait is the default of clients.
const defaultHealthWait = 20 * time.Minute

// HealthCheck implements cluster.ClusterService.
func (s *Server) HealthCheck(req *clusterapi.HealthCheckRequest, stream grpc.ServerStreamingServer[clusterapi.HealthCheckProgress]) error {
	timeout := defaultHealthWait
	if t := req.GetWaitTimeout(); t != nil {
		timeout = t.AsDuration()
	}

	if timeout <= 0 {
		return status.Errorf(codes.InvalidArgument, "health: a wait timeout of %s is not positive", timeout)
	}

	ctx, cancel := context.WithTimeout(stream.Context(), timeout)
	defer cancel()

	if err := s.checkEndpoint(ctx, req.GetClusterInfo().GetForceEndpoint()); err != nil {
		return err
	}

	kube := &healthsource.Kubernetes{State: s.State, Endpoint: req.GetClusterInfo().GetForceEndpoint()}
	defer kube.Close()

	source, err := s.healthSource(ctx, req.GetClusterInfo(), health.KubernetesAPI{Get: kube.Get})
	if err != nil {
		return err
	}

	node, err := os.Hostname()
	if err != nil {
		return err
	}

	err = health.Wait(ctx, node, source.Checks(), func(line string) error {
		return stream.Send(&clusterapi.HealthCheckProgress{Message: line})
	})

	var failure *health.Failure

	switch {
	case err == nil:
		return nil
	case stream.Context().Err() != nil:
		return status.FromContextError(stream.Context().Err()).Err()
	case errors.As(err, &failure):
		return status.Error(codes.DeadlineExceeded, err.Error())
	default:
		return err
	}
}

// checkEndpoint refuses an endpoint of Kubernetes that is not in the configuration of this cluster: a caller must not be able
// to have this node connect to any address with its certificate.
func (s *Server) checkEndpoint(ctx context.Context, endpoint string) error {
	if endpoint == "" {
		return nil
	}

	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return status.Errorf(codes.InvalidArgument, "health: Kubernetes endpoint %.200q: want https://HOST:PORT", endpoint)
	}

	cfg, err := fromconfig.Active(ctx, s.State)
	if err != nil || cfg == nil {
		return err // healthSource reports it
	}

	hosts, ports := append([]string{"127.0.0.1", "localhost"}, cfg.APIServer().CertSANs...), []string{"6443"}

	if own := cfg.Endpoint(); !own.IsZero() {
		hosts, ports = append(hosts, own.Hostname()), append(ports, cmp.Or(own.Port(), "443"))
	}

	nodes, err := typed.List[k8s.EndpointSpec](ctx, s.State, "")
	if err != nil {
		return err
	}

	for _, n := range nodes {
		hosts = append(hosts, n.TypedSpec().Hosts...)
		for _, addr := range n.TypedSpec().Addresses {
			hosts = append(hosts, addr.String())
		}
	}

	if !slices.Contains(hosts, u.Hostname()) || !slices.Contains(ports, cmp.Or(u.Port(), "443")) {
		return status.Errorf(codes.InvalidArgument, "health: Kubernetes endpoint %.200q is not one of this cluster: add it to cluster.controlPlane.endpoint or "+
			"cluster.apiServer.certSANs, or check from the client (talosctl health --server=false)", endpoint)
	}

	return nil
}

// healthSource returns what the checks read. Only a control plane node has the keys for it.
func (s *Server) healthSource(ctx context.Context, info *clusterapi.ClusterInfo, kube health.Kubernetes) (*health.Source, error) {
	cfg, err := s.configuration(ctx, "health")
	if err != nil {
		return nil, err
	}

	if !cfg.Type().IsControlPlane() {
		return nil, status.Error(codes.FailedPrecondition, "health: a worker has no access to etcd and to the whole of Kubernetes; call a control plane node (talosctl health --nodes)")
	}

	return &health.Source{
		Machines:          []health.Machine{{ControlPlane: true, State: s.State, Memory: totalMemory}},
		Etcd:              healthsource.Etcd{State: s.State},
		Kubernetes:        kube,
		ControlPlaneNodes: info.GetControlPlaneNodes(),
		WorkerNodes:       info.GetWorkerNodes(),
	}, nil
}

func totalMemory(context.Context) (uint64, error) {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}

	return parseMeminfo(raw).GetMemtotal() << 10, nil
}

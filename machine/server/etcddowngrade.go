// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"regexp"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// storageVersion matches a version of etcd's storage.
var storageVersion = regexp.MustCompile(`^v?[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?$`)

func (s *Server) etcdDowngrade(ctx context.Context, action clientv3.DowngradeAction, what, version string) (*machine.EtcdClusterDowngrade, error) {
	if action != clientv3.DowngradeCancel && !storageVersion.MatchString(version) {
		return nil, status.Errorf(codes.InvalidArgument, "%s: %.40q is not a version: name one such as 3.5", what, version)
	}

	resp, err := etcdCall(ctx, s, what, etcdTimeout, func(ctx context.Context, c *clientv3.Client) (*clientv3.DowngradeResponse, error) {
		return c.Downgrade(ctx, action, version)
	})
	if err != nil {
		return nil, err
	}

	return &machine.EtcdClusterDowngrade{ClusterVersion: resp.Version}, nil
}

// EtcdDowngradeValidate implements machine.MachineService.
func (s *Server) EtcdDowngradeValidate(ctx context.Context, req *machine.EtcdDowngradeValidateRequest) (*machine.EtcdDowngradeValidateResponse, error) {
	d, err := s.etcdDowngrade(ctx, clientv3.DowngradeValidate, "validate a downgrade of etcd", req.GetVersion())
	if err != nil {
		return nil, err
	}

	return &machine.EtcdDowngradeValidateResponse{Messages: []*machine.EtcdDowngradeValidate{{ClusterDowngrade: d}}}, nil
}

// EtcdDowngradeEnable implements machine.MachineService.
func (s *Server) EtcdDowngradeEnable(ctx context.Context, req *machine.EtcdDowngradeEnableRequest) (*machine.EtcdDowngradeEnableResponse, error) {
	d, err := s.etcdDowngrade(ctx, clientv3.DowngradeEnable, "downgrade etcd", req.GetVersion())
	if err != nil {
		return nil, err
	}

	return &machine.EtcdDowngradeEnableResponse{Messages: []*machine.EtcdDowngradeEnable{{ClusterDowngrade: d}}}, nil
}

// EtcdDowngradeCancel implements machine.MachineService.
func (s *Server) EtcdDowngradeCancel(ctx context.Context, _ *emptypb.Empty) (*machine.EtcdDowngradeCancelResponse, error) {
	d, err := s.etcdDowngrade(ctx, clientv3.DowngradeCancel, "cancel the downgrade of etcd", "")
	if err != nil {
		return nil, err
	}

	return &machine.EtcdDowngradeCancelResponse{Messages: []*machine.EtcdDowngradeCancel{{ClusterDowngrade: d}}}, nil
}

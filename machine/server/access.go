// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// The roles that a caller may have.
const (
	RoleAdmin       = "os:admin"
	RoleOperator    = "os:operator"
	RoleReader      = "os:reader"
	RoleEtcdBackup  = "os:etcd:backup"
	RoleMetaWriter  = "os:meta:writer"
	metadataRoleKey = "talos-role"
)

var (
	readers   = []string{RoleAdmin, RoleOperator, RoleReader}
	operators = []string{RoleAdmin, RoleOperator}
)

// rules say which roles may make a call. What is not here is for administrators.
var rules = map[string][]string{
	// A machine without a configuration takes its first from anybody; the handler refuses readers after that.
	"/machine.MachineService/ApplyConfiguration": {RoleAdmin, RoleReader},
	"/machine.MachineService/Dmesg":              readers,
	"/machine.MachineService/Events":             readers,
	"/machine.MachineService/Hostname":           readers,
	"/machine.MachineService/Logs":               readers,
	"/machine.MachineService/LogsContainers":     readers,
	"/machine.MachineService/Memory":             readers,
	"/machine.MachineService/Reboot":             operators,
	"/machine.MachineService/ServiceList":        readers,
	"/machine.MachineService/ServiceRestart":     operators,
	"/machine.MachineService/ServiceStart":       operators,
	"/machine.MachineService/ServiceStop":        operators,
	"/machine.MachineService/Shutdown":           operators,
	"/machine.MachineService/Version":            readers,
	"/cluster.ClusterService/HealthCheck":        readers,
	"/cosi.resource.State/Get":                   readers,
	"/cosi.resource.State/List":                  readers,
	"/cosi.resource.State/Watch":                 readers,
}

// rolesFrom returns the roles that apid has put into the call's metadata. machined's socket is open to root and apid
// alone, so they are believed.
func rolesFrom(ctx context.Context) []string {
	md, _ := metadata.FromIncomingContext(ctx)

	return md.Get(metadataRoleKey)
}

func authorize(ctx context.Context, method string) error {
	allowed, ok := rules[method]
	if !ok {
		allowed = []string{RoleAdmin}
	}

	roles := rolesFrom(ctx)
	if slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(allowed, r) }) {
		return nil
	}

	return status.Errorf(codes.PermissionDenied, "%s: it takes one of the roles %s, the caller has [%s]",
		strings.TrimPrefix(method, "/"), strings.Join(allowed, ", "), strings.Join(roles, ", "))
}

// Authorized are the interceptors that apply the rules.
func Authorized() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := authorize(ctx, info.FullMethod); err != nil {
				return nil, err
			}

			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := authorize(stream.Context(), info.FullMethod); err != nil {
				return err
			}

			return next(srv, stream)
		}),
	}
}

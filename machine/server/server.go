// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package server is machined's API on its unix socket: the machine, cluster, time, storage and inspect services, and reads of
// the resource state. Its client is apid, which has authenticated the caller; see package apid.
//
// Each group of calls has its own file. A panic in a call becomes an Internal error and a line in the log, and does not end
// process 1.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	clusterapi "github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/api/inspect"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/api/storage"
	timeapi "github.com/seed-59268b81/talos/api/time"
	"github.com/seed-59268b81/talos/api/trial"
	"github.com/seed-59268b81/talos/controllers/config"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/machine/events"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/service/logring"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Server implements the services.
type Server struct {
	machine.UnimplementedMachineServiceServer
	clusterapi.UnimplementedClusterServiceServer
	System

	State      state.State
	Supervisor *supervisor.Supervisor
	Outputs    *logring.Logs
	Ring       *events.Ring
	Journal    *bootlog.Journal
	Config     *config.Controller
	Log        *slog.Logger
	// Platform is where the machine runs: on a computer or in a container.
	Platform platform.Platform

	resetting resetting
}

// Register adds the services to a gRPC server.
func (s *Server) Register(g grpc.ServiceRegistrar) {
	machine.RegisterMachineServiceServer(g, s)
	clusterapi.RegisterClusterServiceServer(g, s)
	machine.RegisterImageServiceServer(g, imageService{Server: s})
	machine.RegisterLifecycleServiceServer(g, lifecycleService{server: s})
	machine.RegisterDebugServiceServer(g, debugService{Server: s})
	machine.RegisterStorageServiceServer(g, &fileSystemService{server: s})
	machine.RegisterLVMServiceServer(g, machine.UnimplementedLVMServiceServer{})
	machine.RegisterMDServiceServer(g, machine.UnimplementedMDServiceServer{})
	storage.RegisterStorageServiceServer(g, &diskService{server: s})
	timeapi.RegisterTimeServiceServer(g, &timeService{server: s})
	inspect.RegisterInspectServiceServer(g, &inspectService{server: s})
	trial.RegisterTrialServiceServer(g, &trialService{server: s})
}

// New returns a gRPC server with the limits and interceptors of all servers in process 1.
func New(log *slog.Logger, opts ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.ForceServerCodecV2(newSizedCodec()),
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
			defer recovered(log, info.FullMethod, &err)

			if err := unsupported[info.FullMethod]; err != nil {
				return nil, err
			}

			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
			defer recovered(log, info.FullMethod, &err)

			if err := unsupported[info.FullMethod]; err != nil {
				return err
			}

			return next(srv, stream)
		}),
	}, opts...)...)
}

func recovered(log *slog.Logger, method string, err *error) {
	if p := recover(); p != nil {
		log.Error("API call panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
		*err = status.Errorf(codes.Internal, "%s failed in the server: %v (its log has the details)", method, p)
	}
}

// Listen opens a unix socket with the given mode and owner. It replaces an existing file.
func Listen(path string, mode os.FileMode, uid, gid int) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}

	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}

	l, err := listenPrivately(path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}

	if err = os.Chown(path, uid, gid); err == nil {
		err = os.Chmod(path, mode)
	}

	if err != nil {
		l.Close()

		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}

	return l, nil
}

// listenPrivately opens a unix socket to which no other user can connect at any time.
func listenPrivately(path string) (net.Listener, error) {
	// The file gets the mode that the socket has when it is bound.
	private := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		return errors.Join(raw.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) }), err)
	}}

	return private.Listen(context.Background(), "unix", path)
}

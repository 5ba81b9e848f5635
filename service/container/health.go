// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/seed-59268b81/talos/layout"
)

// Healthy returns an error unless containerd's own health service reports that it serves.
func Healthy(ctx context.Context) error {
	conn, err := grpc.NewClient("unix://"+layout.ContainerdSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("containerd health: %w", err)
	}
	defer conn.Close()

	resp, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		return fmt.Errorf("containerd health: %w", err)
	}

	if resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		return errors.New("containerd is " + resp.GetStatus().String())
	}

	return nil
}

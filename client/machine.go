// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// Version returns the node's version, platform and features.
func (c *Client) Version(ctx context.Context) (*machine.Version, error) {
	r, err := c.Machine.Version(ctx, &emptypb.Empty{})

	return unwrap("version", r, err)
}

// ApplyConfiguration sends a machine configuration.
func (c *Client) ApplyConfiguration(ctx context.Context, request *machine.ApplyConfigurationRequest) (*machine.ApplyConfiguration, error) {
	r, err := c.Machine.ApplyConfiguration(ctx, request)

	return unwrap("apply configuration", r, err)
}

// Bootstrap starts etcd on the node as the first member of a new cluster.
func (c *Client) Bootstrap(ctx context.Context, request *machine.BootstrapRequest) error {
	r, err := c.Machine.Bootstrap(ctx, request)
	_, err = unwrap("bootstrap", r, err)

	return err
}

// Services lists the node's services.
func (c *Client) Services(ctx context.Context) ([]*machine.ServiceInfo, error) {
	r, err := c.Machine.ServiceList(ctx, &emptypb.Empty{})
	list, err := unwrap("list services", r, err)

	return list.GetServices(), err
}

// StartService starts a service and returns what the node says about it.
func (c *Client) StartService(ctx context.Context, id string) (string, error) {
	r, err := c.Machine.ServiceStart(ctx, &machine.ServiceStartRequest{Id: id})
	m, err := unwrap("start service "+id, r, err)

	return m.GetResp(), err
}

// StopService stops a service and returns what the node says about it.
func (c *Client) StopService(ctx context.Context, id string) (string, error) {
	r, err := c.Machine.ServiceStop(ctx, &machine.ServiceStopRequest{Id: id})
	m, err := unwrap("stop service "+id, r, err)

	return m.GetResp(), err
}

// RestartService restarts a service and returns what the node says about it.
func (c *Client) RestartService(ctx context.Context, id string) (string, error) {
	r, err := c.Machine.ServiceRestart(ctx, &machine.ServiceRestartRequest{Id: id})
	m, err := unwrap("restart service "+id, r, err)

	return m.GetResp(), err
}

// Memory returns /proc/meminfo; values are in KiB.
func (c *Client) Memory(ctx context.Context) (*machine.MemInfo, error) {
	r, err := c.Machine.Memory(ctx, &emptypb.Empty{})
	m, err := unwrap("memory", r, err)

	return m.GetMeminfo(), err
}

// Reboot reboots the node and returns the actor id of the events of the reboot.
func (c *Client) Reboot(ctx context.Context, mode machine.RebootRequest_Mode) (actorID string, err error) {
	r, err := c.Machine.Reboot(ctx, &machine.RebootRequest{Mode: mode})
	m, err := unwrap("reboot", r, err)

	return m.GetActorId(), err
}

// Shutdown powers the node off and returns the actor id of the events of the shutdown. Force does not wait for
// services or for pods.
func (c *Client) Shutdown(ctx context.Context, force bool) (actorID string, err error) {
	r, err := c.Machine.Shutdown(ctx, &machine.ShutdownRequest{Force: force})
	m, err := unwrap("shutdown", r, err)

	return m.GetActorId(), err
}

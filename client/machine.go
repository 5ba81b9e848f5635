// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/api/trial"
	"github.com/seed-59268b81/talos/config"
)

// Version returns the node's version, platform and features.
func (c *Client) Version(ctx context.Context) (*machine.Version, error) {
	return call(ctx, "version", c.Machine.Version, &emptypb.Empty{})
}

// From returns a context for ApplyConfiguration with the configuration, by the id of its resource, that the new one was made from. The node
// refuses the new one, with codes.Aborted, if it has another configuration by now. Nodes with other software may ignore it.
func From(ctx context.Context, id string, text []byte) context.Context {
	return metadata.AppendToOutgoingContext(ctx, contract.KeyConfigFrom, id+":"+config.Digest(text))
}

// ApplyConfiguration sends a machine configuration.
func (c *Client) ApplyConfiguration(ctx context.Context, request *machine.ApplyConfigurationRequest) (*machine.ApplyConfiguration, error) {
	return call(ctx, "apply configuration", c.Machine.ApplyConfiguration, request)
}

// CommitNow returns a context for ApplyConfiguration: the configuration is committed at once, and not only when the node was healthy with it.
func CommitNow(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, contract.KeyCommit, contract.CommitNow)
}

// CommitHealthy returns a context for ApplyConfiguration: the configuration is committed when the node was healthy with it for a while, within
// the request's timeout. With the mode TRY, nodes with other software wait for a person.
func CommitHealthy(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, contract.KeyCommit, contract.CommitHealthy)
}

// WithTrialTime returns a context for upgrades and rollbacks: the node goes back to the version before when it has not been healthy within
// that time.
func WithTrialTime(ctx context.Context, d time.Duration) context.Context {
	return metadata.AppendToOutgoingContext(ctx, contract.KeyTrialTime, d.String())
}

// Confirm commits the change that is on trial, or reverts it.
func (c *Client) Confirm(ctx context.Context, request *trial.ConfirmRequest) (*trial.Confirmation, error) {
	return call(ctx, "confirm", c.Trials.Confirm, request)
}

// Bootstrap starts etcd on the node as the first member of a new cluster.
func (c *Client) Bootstrap(ctx context.Context, request *machine.BootstrapRequest) error {
	return run(ctx, "bootstrap", c.Machine.Bootstrap, request)
}

// Services lists the node's services.
func (c *Client) Services(ctx context.Context) ([]*machine.ServiceInfo, error) {
	return field(ctx, "list services", c.Machine.ServiceList, &emptypb.Empty{}, (*machine.ServiceList).GetServices)
}

// StartService starts a service and returns the node's message.
func (c *Client) StartService(ctx context.Context, id string) (string, error) {
	return field(ctx, "start service "+id, c.Machine.ServiceStart, &machine.ServiceStartRequest{Id: id}, (*machine.ServiceStart).GetResp)
}

// StopService stops a service and returns the node's message.
func (c *Client) StopService(ctx context.Context, id string) (string, error) {
	return field(ctx, "stop service "+id, c.Machine.ServiceStop, &machine.ServiceStopRequest{Id: id}, (*machine.ServiceStop).GetResp)
}

// RestartService restarts a service and returns the node's message.
func (c *Client) RestartService(ctx context.Context, id string) (string, error) {
	return field(ctx, "restart service "+id, c.Machine.ServiceRestart, &machine.ServiceRestartRequest{Id: id}, (*machine.ServiceRestart).GetResp)
}

// Memory returns /proc/meminfo; values are in KiB.
func (c *Client) Memory(ctx context.Context) (*machine.MemInfo, error) {
	return field(ctx, "memory", c.Machine.Memory, &emptypb.Empty{}, (*machine.Memory).GetMeminfo)
}

// Reboot reboots the node and returns the actor id of the events of the reboot.
func (c *Client) Reboot(ctx context.Context, mode machine.RebootRequest_Mode) (actorID string, err error) {
	return field(ctx, "reboot", c.Machine.Reboot, &machine.RebootRequest{Mode: mode}, (*machine.Reboot).GetActorId)
}

// Shutdown powers the node off and returns the actor id of the events of the shutdown. Force does not wait for
// services or for pods.
func (c *Client) Shutdown(ctx context.Context, force bool) (actorID string, err error) {
	return field(ctx, "shutdown", c.Machine.Shutdown, &machine.ShutdownRequest{Force: force}, (*machine.Shutdown).GetActorId)
}

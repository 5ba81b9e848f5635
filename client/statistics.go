// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// Processes lists the node's processes.
func (c *Client) Processes(ctx context.Context) ([]*machine.ProcessInfo, error) {
	r, err := c.Machine.Processes(ctx, &emptypb.Empty{})
	m, err := unwrap("list processes", r, err)

	return m.GetProcesses(), err
}

// LoadAvg returns the load averages.
func (c *Client) LoadAvg(ctx context.Context) (*machine.LoadAvg, error) {
	r, err := c.Machine.LoadAvg(ctx, &emptypb.Empty{})

	return unwrap("load average", r, err)
}

// SystemStat returns /proc/stat.
func (c *Client) SystemStat(ctx context.Context) (*machine.SystemStat, error) {
	r, err := c.Machine.SystemStat(ctx, &emptypb.Empty{})

	return unwrap("system statistics", r, err)
}

// CPUInfo returns /proc/cpuinfo.
func (c *Client) CPUInfo(ctx context.Context) ([]*machine.CPUInfo, error) {
	r, err := c.Machine.CPUInfo(ctx, &emptypb.Empty{})
	m, err := unwrap("CPU information", r, err)

	return m.GetCpuInfo(), err
}

// CPUFreqStats returns the frequency of each CPU, in kHz.
func (c *Client) CPUFreqStats(ctx context.Context) ([]*machine.CPUFreqStats, error) {
	r, err := c.Machine.CPUFreqStats(ctx, &emptypb.Empty{})
	m, err := unwrap("CPU frequencies", r, err)

	return m.GetCpuFreqStats(), err
}

// DiskStats returns /proc/diskstats.
func (c *Client) DiskStats(ctx context.Context) (*machine.DiskStats, error) {
	r, err := c.Machine.DiskStats(ctx, &emptypb.Empty{})

	return unwrap("disk statistics", r, err)
}

// NetworkDeviceStats returns /proc/net/dev.
func (c *Client) NetworkDeviceStats(ctx context.Context) (*machine.NetworkDeviceStats, error) {
	r, err := c.Machine.NetworkDeviceStats(ctx, &emptypb.Empty{})

	return unwrap("network statistics", r, err)
}

// Hostname returns the node's hostname.
func (c *Client) Hostname(ctx context.Context) (string, error) {
	r, err := c.Machine.Hostname(ctx, &emptypb.Empty{})
	m, err := unwrap("hostname", r, err)

	return m.GetHostname(), err
}

// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// Processes lists the node's processes.
func (c *Client) Processes(ctx context.Context) ([]*machine.ProcessInfo, error) {
	return field(ctx, "list processes", c.Machine.Processes, &emptypb.Empty{}, (*machine.Process).GetProcesses)
}

// LoadAvg returns the load averages.
func (c *Client) LoadAvg(ctx context.Context) (*machine.LoadAvg, error) {
	return call(ctx, "load average", c.Machine.LoadAvg, &emptypb.Empty{})
}

// SystemStat returns /proc/stat.
func (c *Client) SystemStat(ctx context.Context) (*machine.SystemStat, error) {
	return call(ctx, "system statistics", c.Machine.SystemStat, &emptypb.Empty{})
}

// CPUInfo returns /proc/cpuinfo.
func (c *Client) CPUInfo(ctx context.Context) ([]*machine.CPUInfo, error) {
	return field(ctx, "CPU information", c.Machine.CPUInfo, &emptypb.Empty{}, (*machine.CPUsInfo).GetCpuInfo)
}

// CPUFreqStats returns the frequency of each CPU, in kHz.
func (c *Client) CPUFreqStats(ctx context.Context) ([]*machine.CPUFreqStats, error) {
	return field(ctx, "CPU frequencies", c.Machine.CPUFreqStats, &emptypb.Empty{}, (*machine.CPUsFreqStats).GetCpuFreqStats)
}

// DiskStats returns /proc/diskstats.
func (c *Client) DiskStats(ctx context.Context) (*machine.DiskStats, error) {
	return call(ctx, "disk statistics", c.Machine.DiskStats, &emptypb.Empty{})
}

// NetworkDeviceStats returns /proc/net/dev.
func (c *Client) NetworkDeviceStats(ctx context.Context) (*machine.NetworkDeviceStats, error) {
	return call(ctx, "network statistics", c.Machine.NetworkDeviceStats, &emptypb.Empty{})
}

// Hostname returns the node's hostname.
func (c *Client) Hostname(ctx context.Context) (string, error) {
	return field(ctx, "hostname", c.Machine.Hostname, &emptypb.Empty{}, (*machine.Hostname).GetHostname)
}

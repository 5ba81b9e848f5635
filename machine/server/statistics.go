// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"maps"
	"slices"

	"github.com/prometheus/procfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// LoadAvg implements machine.MachineService.
func (s *Server) LoadAvg(context.Context, *emptypb.Empty) (*machine.LoadAvgResponse, error) {
	load, err := read(s.path("proc"), procfs.NewFS, func(fs procfs.FS) (*procfs.LoadAvg, error) { return fs.LoadAvg() })
	if err != nil {
		return nil, status.Errorf(codes.Internal, "load average: %v", err)
	}

	return &machine.LoadAvgResponse{Messages: []*machine.LoadAvg{{Load1: load.Load1, Load5: load.Load5, Load15: load.Load15}}}, nil
}

// SystemStat implements machine.MachineService. Times of processors are in seconds.
func (s *Server) SystemStat(context.Context, *emptypb.Empty) (*machine.SystemStatResponse, error) {
	stat, err := read(s.path("proc"), procfs.NewFS, procfs.FS.Stat)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "system statistics: %v", err)
	}

	reply := &machine.SystemStat{
		BootTime: stat.BootTime, CpuTotal: cpuStat(stat.CPUTotal),
		IrqTotal: stat.IRQTotal, Irq: stat.IRQ,
		ContextSwitches: stat.ContextSwitches,
		ProcessCreated:  stat.ProcessCreated, ProcessRunning: stat.ProcessesRunning, ProcessBlocked: stat.ProcessesBlocked,
		SoftIrqTotal: stat.SoftIRQTotal,
		SoftIrq: &machine.SoftIRQStat{
			Hi: stat.SoftIRQ.Hi, Timer: stat.SoftIRQ.Timer, NetTx: stat.SoftIRQ.NetTx, NetRx: stat.SoftIRQ.NetRx,
			Block: stat.SoftIRQ.Block, BlockIoPoll: stat.SoftIRQ.BlockIoPoll, Tasklet: stat.SoftIRQ.Tasklet,
			Sched: stat.SoftIRQ.Sched, Hrtimer: stat.SoftIRQ.Hrtimer, Rcu: stat.SoftIRQ.Rcu,
		},
	}

	for _, cpu := range slices.Sorted(maps.Keys(stat.CPU)) {
		reply.Cpu = append(reply.Cpu, cpuStat(stat.CPU[cpu]))
	}

	return &machine.SystemStatResponse{Messages: []*machine.SystemStat{reply}}, nil
}

func cpuStat(c procfs.CPUStat) *machine.CPUStat {
	return &machine.CPUStat{
		User: c.User, Nice: c.Nice, System: c.System, Idle: c.Idle, Iowait: c.Iowait, Irq: c.IRQ, SoftIrq: c.SoftIRQ,
		Steal: c.Steal, Guest: c.Guest, GuestNice: c.GuestNice,
	}
}

// read opens the file system at the path with a library, and reads one value from it.
func read[FS, V any](path string, open func(string) (FS, error), get func(FS) (V, error)) (V, error) {
	fs, err := open(path)
	if err != nil {
		var none V

		return none, err
	}

	return get(fs)
}

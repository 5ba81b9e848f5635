// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// CPUFreqStats implements machine.MachineService, in kHz. A processor whose frequency the kernel does not control, as in a
// virtual machine, has an empty entry.
func (s *Server) CPUFreqStats(context.Context, *emptypb.Empty) (*machine.CPUFreqStatsResponse, error) {
	cpus, err := filepath.Glob(s.path("sys/devices/system/cpu/cpu[0-9]*"))
	if err != nil {
		return nil, status.Errorf(codes.Internal, "processor frequencies: %v", err)
	}

	// cpu2 is before cpu10.
	slices.SortFunc(cpus, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })

	reply := &machine.CPUsFreqStats{}

	for _, cpu := range cpus {
		cpu = filepath.Join(cpu, "cpufreq")

		reply.CpuFreqStats = append(reply.CpuFreqStats, &machine.CPUFreqStats{
			CurrentFrequency: kernelNumber(cpu, "scaling_cur_freq"),
			MinimumFrequency: kernelNumber(cpu, "scaling_min_freq"),
			MaximumFrequency: kernelNumber(cpu, "scaling_max_freq"),
			Governor:         kernelText(cpu, "scaling_governor"),
		})
	}

	return &machine.CPUFreqStatsResponse{Messages: []*machine.CPUsFreqStats{reply}}, nil
}

// kernelText returns the content of a file in /sys, or "" if it cannot be read.
func kernelText(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}

	return validText(strings.TrimSpace(string(b)))
}

func kernelNumber(dir, name string) uint64 {
	n, err := strconv.ParseUint(kernelText(dir, name), 10, 64)
	if err != nil {
		return 0
	}

	return n
}

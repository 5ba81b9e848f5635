// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

const (
	// maxArgs is how many bytes of a process's arguments are shown; a program may have megabytes of them.
	maxArgs = 16 << 10
	// maxAllArgs is the same for all processes together, so that the answer fits into a message. When it is used up, each
	// process shows fewArgs.
	maxAllArgs = 8 << 20
	fewArgs    = 128
)

// Processes implements machine.MachineService. A process that ends while it is read is left out.
func (s *Server) Processes(ctx context.Context, _ *emptypb.Empty) (*machine.ProcessesResponse, error) {
	all, err := read(s.path("proc"), procfs.NewFS, procfs.FS.AllProcs)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "processes: %v", err)
	}

	reply := &machine.Process{}
	left := maxAllArgs

	for _, p := range all {
		if ctx.Err() != nil {
			return nil, status.FromContextError(ctx.Err()).Err()
		}

		if info := processInfo(p, s.path("proc"), max(fewArgs, min(left, maxArgs))); info != nil {
			left -= len(info.GetArgs())
			reply.Processes = append(reply.Processes, info)
		}
	}

	return &machine.ProcessesResponse{Messages: []*machine.Process{reply}}, nil
}

func processInfo(p procfs.Proc, proc string, argsLimit int) *machine.ProcessInfo {
	stat, err := p.Stat()
	if err != nil {
		return nil
	}

	// Kernel threads have no program. A process that has ended looks the same.
	args, _ := p.CmdLine()
	executable, _ := p.Executable()

	// Without a security module there is no label, and reading it fails.
	label, _ := os.ReadFile(filepath.Join(proc, strconv.Itoa(p.PID), "attr/current"))

	return &machine.ProcessInfo{
		Pid: int32(stat.PID), Ppid: int32(stat.PPID), State: stat.State, Threads: int32(stat.NumThreads), CpuTime: stat.CPUTime(),
		VirtualMemory: uint64(stat.VirtualMemory()), ResidentMemory: uint64(max(0, stat.ResidentMemory())),
		Command: validText(stat.Comm), Executable: validText(executable), Args: clip(validText(strings.Join(args, " ")), argsLimit),
		Label: validText(strings.TrimRight(string(label), "\x00\n")),
	}
}

// validText replaces bytes that are not UTF-8, which a message cannot hold.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}

	return strings.ToValidUTF8(s[:limit], "") + "…"
}

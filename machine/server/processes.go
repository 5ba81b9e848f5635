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
	// maxArgs in bytes of one process that are shown; a program may have megabytes of them.
	maxArgs = 16 << 10
	// maxAllArgs of all processes together, so that the answer stays within a message whatever a pod starts; those that come
	// when they are used up show fewArgs each.
	maxAllArgs = 8 << 20
	fewArgs    = 128
)

// Processes implements machine.MachineService. One that ends while it is looked at is left out.
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

	// Threads of the kernel have no program; the rest may be gone by now, which looks the same.
	args, _ := p.CmdLine()
	executable, _ := p.Executable()

	// Without a security module there is no label, and reading it is an error.
	label, _ := os.ReadFile(filepath.Join(proc, strconv.Itoa(p.PID), "attr/current"))

	return &machine.ProcessInfo{
		Pid: int32(stat.PID), Ppid: int32(stat.PPID), State: stat.State, Threads: int32(stat.NumThreads), CpuTime: stat.CPUTime(),
		VirtualMemory: uint64(stat.VirtualMemory()), ResidentMemory: uint64(max(0, stat.ResidentMemory())),
		Command: validText(stat.Comm), Executable: validText(executable), Args: clip(validText(strings.Join(args, " ")), argsLimit),
		Label: validText(strings.TrimRight(string(label), "\x00\n")),
	}
}

// validText makes a string that may be of any bytes one that a message can hold.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}

	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/oom"
)

// Process is a runner that executes a program. The process is killed when it does not end in time. When it has ended, the processes it
// left behind are killed: its process group and, with cgroup v2, its whole cgroup, which includes processes that left the group.
type Process struct {
	// Argv is the program and its arguments; Path, if set, is the file to execute instead of Argv[0].
	Path string
	Argv []string
	// Env is the whole environment, KEY=value.
	Env []string
	// UID and GID to run as.
	UID, GID uint32
	// Cgroup is the path of the cgroup below the cgroup2 mount, which the caller creates (package cgroup). When it is empty, or on a
	// host with cgroup v1, the process runs in machined's cgroup.
	Cgroup string
	// KeepChildren does not kill the children of the process when it ends.
	KeepChildren bool
	// OOMScoreAdj from -1000 to 1000.
	OOMScoreAdj int
	// Stdin, if set, is given to the process as a file.
	Stdin *os.File
	// StopSignal defaults to SIGTERM; StopTimeout before SIGKILL to 10 s.
	StopSignal  syscall.Signal
	StopTimeout time.Duration
}

// Run implements Runner.
func (p *Process) Run(ctx context.Context, run Run) error {
	path := p.Path
	if path == "" {
		path = p.Argv[0]
	}

	//program:image the composite literals of Process say which
	cmd := &exec.Cmd{Path: path, Args: p.Argv, Env: p.Env, Stdout: run.Log, Stderr: run.Log, Dir: "/"}
	if p.Stdin != nil {
		cmd.Stdin = p.Stdin
	}

	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Credential: &syscall.Credential{Uid: p.UID, Gid: p.GID},
	}
	// Children of the service may keep the output pipe open after it has ended.
	cmd.WaitDelay = 2 * time.Second

	if p.Cgroup != "" && cgroup.Unified() {
		dir, err := os.Open(cgroup.Mount + "/" + p.Cgroup)
		if err != nil {
			return fmt.Errorf("process %s: open cgroup: %w", path, err)
		}
		defer dir.Close()

		cmd.SysProcAttr.UseCgroupFD = true
		cmd.SysProcAttr.CgroupFD = int(dir.Fd())
	}

	if err := cmd.Start(); err != nil {
		return fmt.Errorf("process %s: start: %w", path, err)
	}

	pid := cmd.Process.Pid

	if score := oom.Allowed(p.OOMScoreAdj); score != 0 {
		err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(strconv.Itoa(score)), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(run.Log, "supervisor: set oom_score_adj: %v\n", err)
		}
	}

	if !p.KeepChildren {
		defer func() {
			if err := p.killRest(pid); err != nil {
				fmt.Fprintf(run.Log, "supervisor: %v\n", err)
			}
		}()
	}

	run.Started(pid)

	exited := guard.Go(cmd.Wait)

	select {
	case err := <-exited:
		return describeExit(path, err)
	case <-ctx.Done():
	}

	signal := cmp.Or(p.StopSignal, unix.SIGTERM)
	if errors.Is(context.Cause(ctx), ErrHung) {
		signal = unix.SIGKILL
	}

	_ = cmd.Process.Signal(signal)
	// A process that was stopped by a signal (SIGSTOP) would not get this one, and a reboot would wait until it is killed.
	_ = cmd.Process.Signal(unix.SIGCONT)

	select {
	case <-exited:
	case <-time.After(cmp.Or(p.StopTimeout, 10*time.Second)):
		_ = unix.Kill(-pid, unix.SIGKILL)
		<-exited
	}

	return nil
}

// killRest kills the processes that the process has left behind.
func (p *Process) killRest(pid int) error {
	_ = unix.Kill(-pid, unix.SIGKILL)

	if p.Cgroup == "" || !cgroup.Unified() {
		return nil
	}

	return cgroup.Tree{Root: cgroup.Mount}.Kill(p.Cgroup)
}

func describeExit(path string, err error) error {
	if err == nil {
		return nil
	}

	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("process %s: %s", path, exit.ProcessState)
	}

	return fmt.Errorf("process %s: %w", path, err)
}

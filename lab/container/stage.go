// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// stageName is the argv[0] under which this program is the stage.
const stageName = "lab-machine"

// stageSocket is the descriptor of the stage's end of the socket pair.
const stageSocket = 3

// init runs the stage in every program that can run a lab, before the program's own code: the stage has no command
// line, and a test's program would not know it.
func init() {
	if len(os.Args) == 0 || os.Args[0] != stageName {
		return
	}

	stage()
	os.Exit(1)
}

// stage runs as the first process of the new namespaces. It returns only after a failure, which it has reported.
func stage() {
	// A cgroup namespace belongs to a thread, and the machine continues from the thread that calls exec.
	runtime.LockOSThread()
	unix.CloseOnExec(stageSocket)

	file := os.NewFile(stageSocket, "lab")

	conn, err := net.FileConn(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab: the stage of a machine was started by hand:", err)

		return
	}

	lab, ok := conn.(*net.UnixConn)
	if !ok {
		fmt.Fprintln(os.Stderr, "lab: the stage of a machine was started by hand")

		return
	}

	if err = prepare(lab); err == nil {
		os.Exit(0)
	}

	reply, _ := json.Marshal(answer{Error: err.Error()}) // a string can always be encoded
	_, _ = lab.Write(reply)                              // fails if the lab has ended
}

// prepare creates a machine and executes its process 1. It returns without error if the Spec has no process 1.
func prepare(lab *net.UnixConn) error {
	message := make([]byte, messageLimit)

	n, err := lab.Read(message)
	if err != nil {
		return fmt.Errorf("read the machine's description: %w", err)
	}

	var spec Spec
	if err := json.Unmarshal(message[:n], &spec); err != nil {
		return fmt.Errorf("read the machine's description: %w", err)
	}

	if spec.Remove != "" {
		return spec.remove(lab)
	}

	taps, err := spec.enter()
	if err != nil {
		return err
	}

	if _, _, err := lab.WriteMsgUnix([]byte("{}"), unix.UnixRights(taps...), nil); err != nil {
		return fmt.Errorf("pass the network cards: %w", err)
	}

	for _, fd := range taps {
		_ = unix.Close(fd)
	}

	if spec.Probe {
		return nil
	}

	// The connection ends with the lab.
	if n, err := lab.Read(message); err != nil || n == 0 {
		return errors.New("the lab ended")
	}

	// A signal that this program's parent ignores would be ignored in the whole machine. A caught signal has its
	// default again after exec.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught)

	//program:image process 1 of the machine, from its own image
	return fmt.Errorf("run %s: %w", spec.Init, syscall.Exec(spec.Init, []string{spec.Init}, spec.Env))
}

// enter creates the machine around this process and returns descriptors of /dev/net/tun.
func (s *Spec) enter() ([]int, error) {
	if err := s.identity(); err != nil {
		return nil, err
	}

	// This process is in its cgroups by now, which become the root.
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return nil, fmt.Errorf("new cgroup namespace: %w", err)
	}

	if err := unix.Sethostname([]byte(s.Name)); err != nil {
		return nil, fmt.Errorf("set the host name: %w", err)
	}

	taps, err := openTaps(s.Taps)
	if err != nil {
		return nil, err
	}

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("make mounts private: %w", err)
	}

	if err := apply(s.mounts(), s.NewRoot); err != nil {
		return nil, err
	}

	unix.Umask(0o022)

	if err := pivot(s.NewRoot); err != nil {
		return nil, err
	}

	return taps, s.confine()
}

// identity makes this process root of its user namespace, if it has one. The kernel clears Pdeathsig when the user
// changes, so it is set again.
func (s *Spec) identity() error {
	if !s.UserNamespace {
		return nil
	}

	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("drop groups: %w", err)
	}

	if err := syscall.Setresgid(0, 0, 0); err != nil {
		return fmt.Errorf("become group 0 of the user namespace: %w", err)
	}

	if err := syscall.Setresuid(0, 0, 0); err != nil {
		return fmt.Errorf("become user 0 of the user namespace: %w", err)
	}

	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("end with the lab: %w", err)
	}

	return nil
}

// pivot makes a folder the root and unmounts the old one. With the same folder as both arguments the old root is
// stacked on the new one (pivot_root(2), "pivot_root(".", ".")"), and needs no folder.
func pivot(root string) error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}

	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot root: %w", err)
	}

	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount the old root: %w", err)
	}

	return unix.Chdir("/")
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/lab/machine"
)

// stageTime is the timeout of the stage, which takes some milliseconds on an idle computer.
const stageTime = time.Minute

// process is a running first process with this program's side of its connections.
type process struct {
	pid int
	// console is the reading end of the machine's console. It ends when writer is closed, which keeps it open between
	// two writers of the machine.
	console, writer *os.File
	lab             *net.UnixConn
	// taps are descriptors for further cards.
	taps []int

	cmd   *exec.Cmd
	ended chan error
}

// startProcess starts the stage in new namespaces, and returns when it waits for "go". The stage ends with this
// program.
func startProcess(spec Spec, cgroup Cgroup, ids *IDs) (*process, error) {
	p := &process{ended: make(chan error, 1)}

	if err := p.openConsole(spec.Console); err != nil {
		return nil, err
	}

	theirs, err := p.connect()
	if err != nil {
		p.disconnect()

		return nil, err
	}

	err = p.start(theirs, ids)
	_ = theirs.Close()

	if err != nil {
		p.disconnect()

		return nil, err
	}

	if err := p.prepare(spec, cgroup, ids); err != nil {
		p.kill()
		_ = p.wait() // the error is that it was killed

		return nil, err
	}

	return p, nil
}

// start starts the stage.
func (p *process) start(theirs *os.File, ids *IDs) error {
	p.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{stageName}, Env: []string{}, Dir: "/",
		ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
			Pdeathsig:  syscall.SIGKILL, Setsid: true,
		},
	}

	if p.writer != nil {
		p.cmd.Stdout, p.cmd.Stderr = p.writer, p.writer
	}

	if ids != nil {
		p.cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		// The stage has no user yet when it is executed, and would lose its capabilities.
		for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
			p.cmd.SysProcAttr.AmbientCaps = append(p.cmd.SysProcAttr.AmbientCaps, c)
		}
	}

	if err := machine.Start(p.cmd, p.ended); err != nil {
		return fmt.Errorf("start a process in new namespaces: %w", err)
	}

	p.pid = p.cmd.Process.Pid

	return nil
}

// openConsole creates the named pipe that is the machine's console.
func (p *process) openConsole(path string) error {
	if err := unix.Mkfifo(path, 0o620); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the console %s: %w", path, err)
	}

	var err error

	// The reader does not wait for a writer. It must exist before the writer opens.
	if p.console, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		return fmt.Errorf("open the console: %w", err)
	}

	// The machine's programs need a blocking descriptor, which os.OpenFile does not open.
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		p.disconnect()

		return fmt.Errorf("open the console: %w", err)
	}

	p.writer = os.NewFile(uintptr(fd), filepath.Base(path))

	return nil
}

// connect creates the socket pair and returns the stage's end.
func (p *process) connect() (*os.File, error) {
	conn, far, err := machine.SocketPair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}

	p.lab, _ = conn.(*net.UnixConn) // always one

	return far, nil
}

// prepare moves the stage into its cgroups, sets its ids, sends it the Spec and receives the descriptors of the cards.
func (p *process) prepare(spec Spec, cgroup Cgroup, ids *IDs) error {
	if err := cgroup.join(p.pid); err != nil {
		return err
	}

	if err := ids.apply(p.pid); err != nil {
		return err
	}

	rights, err := p.ask(spec, time.Now().Add(stageTime))
	if err != nil {
		return err
	}

	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return fmt.Errorf("receive the network cards: %w", err)
	}

	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return fmt.Errorf("receive the network cards: %w", err)
		}

		p.taps = append(p.taps, fds...)
	}

	for _, fd := range p.taps {
		unix.CloseOnExec(fd)
	}

	if len(p.taps) != spec.Taps {
		return fmt.Errorf("receive the network cards: got %d of %d", len(p.taps), spec.Taps)
	}

	return nil
}

// ask sends the Spec to the stage and returns the control messages of its answer.
func (p *process) ask(spec Spec, deadline time.Time) ([]byte, error) {
	message, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("send to the stage: %w", err)
	}

	_ = p.lab.SetDeadline(deadline) // sockets support deadlines

	if _, err := p.lab.Write(message); err != nil {
		return nil, fmt.Errorf("send to the stage: %w", err)
	}

	reply, rights := make([]byte, messageLimit), make([]byte, unix.CmsgSpace(4*253)) // SCM_MAX_FD

	n, oobn, _, _, err := p.lab.ReadMsgUnix(reply, rights)
	if err != nil {
		return nil, fmt.Errorf("read the stage's answer: %w", err)
	}

	var said answer
	if err := json.Unmarshal(reply[:n], &said); err != nil {
		return nil, fmt.Errorf("read the stage's answer: %w", err)
	}

	if said.Error != "" {
		return nil, errors.New(said.Error)
	}

	return rights[:oobn], nil
}

// tap creates a network card.
func (p *process) tap(card int, mac net.HardwareAddr) (*os.File, error) {
	if len(p.taps) == 0 {
		return nil, fmt.Errorf("create card %s: %d cards were plugged in since the machine was switched on, which is the limit", cardName(card), spareTaps)
	}

	fd := p.taps[0]
	p.taps = p.taps[1:]

	file, err := makeTap(fd, cardName(card), mac)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}

	return file, nil
}

// run makes the stage execute process 1.
func (p *process) run() error {
	_ = p.lab.SetDeadline(time.Now().Add(stageTime))

	if _, err := p.lab.Write([]byte("go")); err != nil {
		return fmt.Errorf("start process 1: %w", err)
	}

	reply := make([]byte, messageLimit)

	// The socket is closed when process 1 is executed.
	n, err := p.lab.Read(reply)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("start process 1: %w", err)
	}

	if n == 0 || err != nil {
		return p.lab.Close()
	}

	var said answer
	if err := json.Unmarshal(reply[:n], &said); err != nil {
		return fmt.Errorf("read the stage's answer: %w", err)
	}

	return errors.New(said.Error)
}

func (p *process) disconnect() {
	for _, file := range []*os.File{p.console, p.writer} {
		if file != nil {
			_ = file.Close()
		}
	}

	if p.lab != nil {
		_ = p.lab.Close()
	}

	for _, fd := range p.taps {
		_ = unix.Close(fd)
	}

	p.taps = nil
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // fails only when it has ended

// wait returns how the process ended, once. All other processes of its PID namespace have ended too.
func (p *process) wait() error {
	err := <-p.ended
	p.disconnect()

	return err
}

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

// stageTime is how long the stage may take, which is some milliseconds on a
// computer that is not busy.
const stageTime = time.Minute

// process is a running first process with this side of its connections.
type process struct {
	pid int
	// console is the reading end of the machine's console. It has an end when
	// writer, which keeps it open between two writers of the machine, is closed.
	console, writer *os.File
	lab             *net.UnixConn
	// taps are descriptors that are no cards yet.
	taps []int

	cmd   *exec.Cmd
	ended chan error
}

// startProcess starts the stage in new namespaces, so that it ends with this
// program, however that ends, and returns when all is made and go is awaited.
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
		_ = p.wait() // the error only says that it was killed

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
		// The stage has no user yet when it is executed, and would lose what it may do.
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

// openConsole makes the named pipe that is the machine's console.
func (p *process) openConsole(path string) error {
	if err := unix.Mkfifo(path, 0o620); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the console %s: %w", path, err)
	}

	var err error

	// A reader that does not wait for a writer; the writer finds it.
	if p.console, err = os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		return fmt.Errorf("open the console: %w", err)
	}

	// The machine's programs want a descriptor that waits, so it is not opened as
	// a file of Go's.
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		p.disconnect()

		return fmt.Errorf("open the console: %w", err)
	}

	p.writer = os.NewFile(uintptr(fd), filepath.Base(path))

	return nil
}

// connect makes the pair of sockets and returns the stage's end.
func (p *process) connect() (*os.File, error) {
	conn, far, err := machine.SocketPair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, err
	}

	p.lab, _ = conn.(*net.UnixConn) // which a Unix socket is

	return far, nil
}

// prepare puts the stage where it belongs, tells it what to make and takes the
// descriptors of the cards.
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
		return fmt.Errorf("take the network cards: %w", err)
	}

	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return fmt.Errorf("take the network cards: %w", err)
		}

		p.taps = append(p.taps, fds...)
	}

	for _, fd := range p.taps {
		unix.CloseOnExec(fd)
	}

	if len(p.taps) != spec.Taps {
		return fmt.Errorf("take the network cards: got %d of %d", len(p.taps), spec.Taps)
	}

	return nil
}

// ask tells the stage what to make and returns the control messages of its
// answer.
func (p *process) ask(spec Spec, deadline time.Time) ([]byte, error) {
	message, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("tell the stage: %w", err)
	}

	_ = p.lab.SetDeadline(deadline) // a socket has deadlines

	if _, err := p.lab.Write(message); err != nil {
		return nil, fmt.Errorf("tell the stage: %w", err)
	}

	reply, rights := make([]byte, messageLimit), make([]byte, unix.CmsgSpace(4*253)) // SCM_MAX_FD

	n, oobn, _, _, err := p.lab.ReadMsgUnix(reply, rights)
	if err != nil {
		return nil, fmt.Errorf("hear from the stage: %w", err)
	}

	var said answer
	if err := json.Unmarshal(reply[:n], &said); err != nil {
		return nil, fmt.Errorf("hear from the stage: %w", err)
	}

	if said.Error != "" {
		return nil, errors.New(said.Error)
	}

	return rights[:oobn], nil
}

// tap makes a network card.
func (p *process) tap(card int, mac net.HardwareAddr) (*os.File, error) {
	if len(p.taps) == 0 {
		return nil, fmt.Errorf("make card %s: %d were made since the machine was switched on, which is the most", cardName(card), spareTaps)
	}

	fd := p.taps[0]
	p.taps = p.taps[1:]

	file, err := makeTap(fd, cardName(card), mac)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}

	return file, nil
}

// run lets the stage become process 1.
func (p *process) run() error {
	_ = p.lab.SetDeadline(time.Now().Add(stageTime))

	if _, err := p.lab.Write([]byte("go")); err != nil {
		return fmt.Errorf("start process 1: %w", err)
	}

	reply := make([]byte, messageLimit)

	// The socket closes when it has been executed.
	n, err := p.lab.Read(reply)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("start process 1: %w", err)
	}

	if n == 0 || err != nil {
		return p.lab.Close()
	}

	var said answer
	if err := json.Unmarshal(reply[:n], &said); err != nil {
		return fmt.Errorf("hear from the stage: %w", err)
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

// wait returns how the process ended, once. With it all others of its PID
// namespace have ended.
func (p *process) wait() error {
	err := <-p.ended
	p.disconnect()

	return err
}

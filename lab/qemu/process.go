// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/seed-59268b81/talos/lab/machine"
)

// process is a running QEMU with this program's side of its connections.
type process struct {
	pid     int
	console *os.File
	monitor net.Conn
	cards   []net.Conn

	cmd     *exec.Cmd
	logPath string
	logFrom int64 // where this process's part of the log begins
	ended   chan error
}

// startProcess starts QEMU with a number of network cards. QEMU ends with this program. Its output is appended to a
// log.
func startProcess(binary string, args []string, cards int, logPath string) (*process, error) {
	p := &process{logPath: logPath, cards: make([]net.Conn, cards), ended: make(chan error, 1)}

	logFile, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open QEMU's log: %w", err)
	}
	defer logFile.Close()

	if p.logFrom, err = logFile.Seek(0, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("open QEMU's log: %w", err)
	}

	theirs, err := p.connect()
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
	}()

	if err != nil {
		p.disconnect()

		return nil, err
	}

	//program:qemu-system-x86_64 as package lab found it
	p.cmd = exec.Command(binary, args...)
	p.cmd.ExtraFiles = theirs
	p.cmd.Stdout, p.cmd.Stderr = logFile, logFile
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}

	if err := machine.Start(p.cmd, p.ended); err != nil {
		p.disconnect()

		return nil, fmt.Errorf("start QEMU: %w", err)
	}

	p.pid = p.cmd.Process.Pid

	return p, nil
}

// connect creates the console's pipe and the sockets, and returns QEMU's ends, in the order of the descriptors in
// config.go.
func (p *process) connect() ([]*os.File, error) {
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create the console's pipe: %w", err)
	}

	p.console = ours
	files := []*os.File{theirs}

	conns := []*net.Conn{&p.monitor}
	for i := range p.cards {
		conns = append(conns, &p.cards[i])
	}

	for _, conn := range conns {
		near, far, err := machine.SocketPair(syscall.SOCK_STREAM)
		if err != nil {
			return files, err
		}

		*conn = near
		files = append(files, far)
	}

	return files, nil
}

func (p *process) disconnect() {
	if p.console != nil {
		_ = p.console.Close()
	}

	for _, conn := range append([]net.Conn{p.monitor}, p.cards...) {
		if conn != nil {
			_ = conn.Close()
		}
	}
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // fails only when it has ended

// wait returns how the process ended, once, and closes its connections.
func (p *process) wait() error {
	err := <-p.ended
	p.disconnect()

	return err
}

// lastOutput returns the last line of the process's output.
func (p *process) lastOutput() string {
	file, err := os.Open(p.logPath)
	if err != nil {
		return ""
	}
	defer file.Close()

	said, err := io.ReadAll(io.NewSectionReader(file, p.logFrom, 64<<10))
	if err != nil {
		return ""
	}

	lines := strings.Split(strings.TrimSpace(string(said)), "\n")

	return lines[len(lines)-1]
}

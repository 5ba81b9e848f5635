// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/supervisor"
)

// startTime is the timeout until all machines of a lab are switched on.
const startTime = 2 * time.Minute

// Create creates a lab and switches its machines on. If it fails, nothing is left.
func Create(ctx context.Context, o Options) (*Lab, error) {
	s, err := o.Plan()
	if err != nil {
		return nil, fmt.Errorf("create lab %s: %w", o.Name, err)
	}

	if _, err := state.Load(s.Dir); err == nil {
		return nil, explainExisting(s.Dir)
	}

	if err := checkContainers(s); err != nil {
		return nil, fmt.Errorf("create lab %s: %w", o.Name, err)
	}

	if err := s.Create(); errors.Is(err, fs.ErrExist) {
		return nil, explainExisting(s.Dir)
	} else if err != nil {
		return nil, err
	}

	l := newLab(s, o.Supervisor)

	err = errors.Join(makeDisks(ctx, s, cmp.Or(o.Image.CD, o.Image.Disk), o.diskArgs()), unpackRoot(ctx, s))
	if err == nil {
		err = writeUserData(ctx, s, o.UserData)
	}

	if err == nil {
		err = l.start(ctx, o.Log)
	}

	if err != nil {
		// The lab is removed also when ctx has ended.
		return nil, errors.Join(fmt.Errorf("create lab %s: %w", o.Name, err), l.Destroy(context.WithoutCancel(ctx)))
	}

	return l, nil
}

func explainExisting(dir string) error {
	s, err := state.Load(dir)
	if err != nil {
		return err
	}

	if s.Condition() == state.Running {
		return fmt.Errorf("%s already; talosctl cluster destroy removes it, --name creates another", s.Explain())
	}

	return errors.New(s.Explain())
}

// Start starts a lab that is stopped or has crashed. Its machines keep their disks and ports.
func (l *Lab) Start(ctx context.Context) error {
	s, err := state.Load(l.state.Dir)
	if err != nil {
		return err
	}

	switch s.Condition() {
	case state.Running:
		return fmt.Errorf("%s already", s.Explain())
	case state.Crashed: // machines that outlived the supervisor have their disks open
		if err := l.Stop(ctx); err != nil {
			return err
		}
	}

	return l.start(ctx, nil)
}

func (l *Lab) start(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()

	var err error
	if len(l.supervisor) == 0 {
		err = l.startLocal(ctx, log)
	} else {
		err = l.startProcess(ctx)
	}

	if err != nil {
		return err
	}

	s, err := state.Load(l.state.Dir)
	if err != nil {
		return err
	}

	l.state = s // has the ports
	for i := range s.Nodes {
		l.nodes[i].Node = s.Nodes[i]
	}

	return nil
}

// local is a supervisor in this process.
type local struct {
	stop  context.CancelFunc
	ended chan error
	// running is set once the lab runs.
	running *supervisor.Supervisor
}

func (l *Lab) startLocal(ctx context.Context, log *slog.Logger) error {
	var logFile *os.File

	if log == nil {
		var err error
		if logFile, err = openLog(l.state.LogPath()); err != nil {
			return err
		}

		log = slog.New(slog.NewTextHandler(logFile, nil))
	}

	run, stop := context.WithCancel(context.Background())
	here := &local{stop: stop, ended: make(chan error, 1)}
	l.local = here
	ready := make(chan struct{})

	go func() {
		err := supervisor.Run(run, l.state.Dir, log, func(s *supervisor.Supervisor) {
			here.running = s

			close(ready)
		})

		stop()

		if logFile != nil {
			_ = logFile.Close()
		}

		here.ended <- err
	}()

	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		stop()
		<-here.ended
		l.local = nil

		return ctx.Err()
	case err := <-here.ended:
		l.local = nil
		if err == nil {
			err = errors.New("the lab was stopped while it started")
		}

		return err
	}
}

// startProcess starts the supervisor as a process in a session of its own, and waits until it answers.
func (l *Lab) startProcess(ctx context.Context) error {
	log, err := openLog(l.state.LogPath())
	if err != nil {
		return err
	}
	defer log.Close()

	from, err := log.Seek(0, 2)
	if err != nil {
		return fmt.Errorf("open the lab's log: %w", err)
	}

	args := append(l.supervisor[1:len(l.supervisor):len(l.supervisor)], l.state.Dir)
	//program:self talosctl, or the test
	cmd := exec.Command(l.supervisor[0], args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}

	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the lab's supervisor: %w", err)
	}

	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	for {
		if status, err := l.control.Status(ctx); err == nil && status.Name == l.Name() {
			return nil
		}

		select {
		case err := <-ended:
			return fmt.Errorf("the lab's supervisor ended (%v): %s", err, lastLines(l.state.LogPath(), from))
		case <-ctx.Done():
			_ = cmd.Process.Kill() // its machines end with it
			<-ended

			return fmt.Errorf("start the lab's supervisor: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func openLog(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lab's log: %w", err)
	}

	return file, nil
}

// lastLines returns the last lines of a log from an offset on.
func lastLines(path string, from int64) string {
	const count = 5

	text, err := os.ReadFile(path)
	if err != nil || int64(len(text)) < from {
		return "its log was removed"
	}

	lines := bytes.Split(bytes.TrimSpace(text[from:]), []byte("\n"))

	return string(bytes.Join(lines[max(0, len(lines)-count):], []byte("\n")))
}

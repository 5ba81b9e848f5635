// SPDX-License-Identifier: Apache-2.0

// Package supervisor keeps services running. A service is a runner (a process, a container, a function) with a name, dependencies, a
// health check and a restart policy. There is no start order: a controller applies a service when its inputs exist, and the service
// stays in Waiting until its dependencies are up (running and healthy).
//
// Apply is idempotent: the same fingerprint changes nothing, another one restarts the service with the new
// description. The name of a service is the name of its log.
//
// A sorted dependency graph was rejected: each service waits for its own dependencies, which gives the same order, works with restarts
// of any service, and needs no detection of cycles (two services that wait for each other stay in Waiting, with a message).
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Service describes something that runs.
type Service struct {
	// ID is the name users see: containerd, etcd, kubelet, …
	ID string
	// Runner runs it once.
	Runner Runner
	// Fingerprint of everything whose change needs a restart. When empty, Apply never restarts the service.
	Fingerprint string
	// DependsOn names services that must be up before each start.
	DependsOn []string
	// Health is checked while it runs; nil means healthy when running.
	Health *Health
	// Once is for a service that is Finished when its runner returns nil; others are restarted whatever it returns.
	Once bool
	// RestartInterval between an exit and the next start; 5 s when zero.
	RestartInterval time.Duration
	// Control has the actions that the API may request.
	Control Control
	// StopTimeout is how long the runner may take to return after its context is done; DefaultStopTimeout when zero. Callers that
	// stop the service wait no longer.
	StopTimeout time.Duration
	// UntilTheEnd is for a service that runs as long as process 1, because clients use it while the machine goes down.
	UntilTheEnd bool
}

// DefaultStopTimeout is longer than the time after which runners kill their processes and containers.
const DefaultStopTimeout = 25 * time.Second

// Control is a set of actions that the API may request.
type Control uint8

// The actions.
const (
	CanStart Control = 1 << iota
	CanStop
	CanRestart
)

// Supervisor owns the services of one machine.
type Supervisor struct {
	ctx      context.Context // of all services
	log      *slog.Logger
	logs     LogSink
	observer func(Status)

	mu       sync.Mutex
	services map[string]*unit
	changed  chan struct{} // closed and replaced at each change of a status
	closed   bool
}

// LogSink gives each service a place to log to.
type LogSink interface {
	// Append adds one line (without its newline) to the log of a service.
	Append(id string, line []byte)
}

// New returns a supervisor whose services all end with ctx. The observer, if any, is called at each change of a status, in order, and
// must not block.
func New(ctx context.Context, log *slog.Logger, logs LogSink, observer func(Status)) *Supervisor {
	return &Supervisor{
		ctx: ctx, log: log, logs: logs, observer: observer,
		services: map[string]*unit{}, changed: make(chan struct{}),
	}
}

// ErrClosed is returned by Apply, Start and Restart after Close: the machine is going down.
var ErrClosed = errors.New("supervisor: no new services, the machine is going down")

// Apply starts the service, or restarts it if its fingerprint has changed. It does not wait.
func (s *Supervisor) Apply(svc Service) error {
	if svc.ID == "" || svc.Runner == nil {
		return fmt.Errorf("supervisor: service %q needs an id and a runner", svc.ID)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.closed {
		return ErrClosed
	}

	u, ok := s.services[svc.ID]
	if !ok {
		u = newUnit(s, svc)
		s.services[svc.ID] = u
		u.start()

		return nil
	}

	if u.svc.Fingerprint == svc.Fingerprint {
		return nil
	}

	u.replace(svc)

	return nil
}

// Remove stops and removes the service. It returns when the runner has returned or ctx is done.
func (s *Supervisor) Remove(ctx context.Context, id string) error {
	u := s.unit(id)
	if u == nil {
		return nil
	}

	if err := s.Retire(ctx, id); err != nil {
		return err
	}

	s.mu.Lock()
	delete(s.services, id)
	s.mu.Unlock()
	s.notify(u.status())

	return nil
}

// Start, Stop and Restart are the actions of the API. They fail for a service that does not allow them. Start of a service that is being
// stopped starts it again when it has stopped.
func (s *Supervisor) Start(id string) error {
	u, err := s.controlled(id, CanStart, "start")
	if err != nil {
		return err
	}

	return s.start(u)
}

// start starts a service unless the machine is going down.
func (s *Supervisor) start(u *unit) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.closed {
		return ErrClosed
	}

	u.start()

	return nil
}

// Stop stops a service until it is started again.
func (s *Supervisor) Stop(ctx context.Context, id string) error {
	u, err := s.controlled(id, CanStop, "stop")
	if err != nil {
		return err
	}

	return u.stop(ctx)
}

// Restart stops and starts a service.
func (s *Supervisor) Restart(ctx context.Context, id string) error {
	u, err := s.controlled(id, CanRestart, "restart")
	if err != nil {
		return err
	}

	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()

	if closed { // running services must keep running
		return ErrClosed
	}

	if err := u.stop(ctx); err != nil {
		return err
	}

	return s.start(u)
}

// The causes of a refused action.
var (
	ErrUnknown    = errors.New("no such service")
	ErrNotAllowed = errors.New("the service does not allow this action over the API")
)

func (s *Supervisor) controlled(id string, action Control, name string) (*unit, error) {
	u := s.unit(id)
	if u == nil {
		return nil, fmt.Errorf("%s service %q: %w", name, id, ErrUnknown)
	}

	if u.service().Control&action == 0 {
		return nil, fmt.Errorf("%s service %q: %w", name, id, ErrNotAllowed)
	}

	return u, nil
}

// List returns the status of every service, sorted by id.
func (s *Supervisor) List() []Status {
	var out []Status
	for _, u := range s.units() {
		out = append(out, u.status())
	}

	return out
}

// unit returns the unit of a service, or nil.
func (s *Supervisor) unit(id string) *unit {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.services[id]
}

// units returns all units, sorted by id.
func (s *Supervisor) units() []*unit {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.SortedFunc(maps.Values(s.services), func(a, b *unit) int { return strings.Compare(a.id, b.id) })
}

// Status returns the status of one service.
func (s *Supervisor) Status(id string) (Status, bool) {
	u := s.unit(id)
	if u == nil {
		return Status{}, false
	}

	return u.status(), true
}

// WaitUp blocks until the service is up.
func (s *Supervisor) WaitUp(ctx context.Context, id string) error {
	for {
		changed := s.Changes()

		if st, ok := s.Status(id); ok && st.Up() {
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// Close refuses new services and starts from now on. Running services keep running.
func (s *Supervisor) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.closed = true
}

// Services returns the applied services, sorted by id.
func (s *Supervisor) Services() []Service {
	var out []Service
	for _, u := range s.units() {
		out = append(out, u.service())
	}

	return out
}

// Retire stops a service that never starts again; it stays in the list. It returns when the runner has returned or ctx is done. An
// unknown service counts as stopped.
func (s *Supervisor) Retire(ctx context.Context, id string) error {
	u := s.unit(id)
	if u == nil {
		return nil
	}

	u.retire()

	return u.stop(ctx)
}

// Changes returns a channel that is closed at the next change of any status.
func (s *Supervisor) Changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.changed
}

func (s *Supervisor) notify(st Status) {
	s.mu.Lock()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()

	if s.observer != nil {
		s.observer(st)
	}
}

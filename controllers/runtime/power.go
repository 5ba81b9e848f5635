// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// PowerController carries out a PowerRequest. It keeps a Lifecycle for each participant while that runs, with a finalizer of each
// participant that needs it. These finalizers alone determine the order: on the request all Lifecycles are torn down, a participant
// is stopped when nothing holds its Lifecycle any more, and when none is left the machine goes down. A participant that times out is
// left behind, because the machine must go down.
type PowerController struct {
	// Participants returns those that run now, and a channel that is closed when that changes.
	Participants func(ctx context.Context) ([]Participant, <-chan struct{}, error)
	// Close prevents new services from starting.
	Close func()
	// Wipe wipes the machine, when nothing uses its disks any more. After an error it goes on at the next boot.
	Wipe func() error
	// Act reboots the machine or powers it off; it returns only on failure.
	Act func(runtime.PowerAction) error
	// Publish sends an event to the watchers, with the id of the actor of the request; nil sends none.
	Publish func(event proto.Message, actorID string)

	held   map[string]bool // all finalizers of participants that were ever set
	ending *ending         // nil until there is a request
}

// othersTime is how long other controllers may hold finalizers on Lifecycles, beyond the sum of the timeouts of the participants.
const othersTime = 2 * time.Minute

// Name implements controller.Controller.
func (*PowerController) Name() string { return "runtime.PowerController" }

// Inputs implements controller.Controller.
func (*PowerController) Inputs() []controller.Input {
	return []controller.Input{
		controller.In[runtime.PowerRequestSpec](controller.Weak, "", runtime.PowerRequestID),
		controller.In[runtime.LifecycleSpec](controller.Strong, ""),
	}
}

// Outputs implements controller.Controller.
func (*PowerController) Outputs() []controller.Output {
	return []controller.Output{controller.Out[runtime.LifecycleSpec](controller.Exclusive)}
}

// Run implements controller.Controller.
func (c *PowerController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	for {
		parts, changed, err := c.Participants(ctx)
		if err != nil {
			return err
		}

		var over bool

		if err := rt.Observe(ctx, func(ctx context.Context) (err error) {
			over, err = c.round(ctx, rt, parts, log)

			return err
		}); err != nil || over {
			return err
		}

		rt.ResetRestartBackoff()

		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
		case <-changed:
		}
	}
}

// round does what can be done now, and reports whether the machine has gone down.
func (c *PowerController) round(ctx context.Context, rt controller.Runtime, parts []Participant, log *slog.Logger) (over bool, err error) {
	var request runtime.PowerRequestSpec

	switch f := typed.Read(ctx, rt, runtime.PowerRequestID, &request); {
	case f.Err != nil:
		return false, f.Err
	case !f.OK:
		return false, c.hold(ctx, rt, parts)
	case c.ending == nil:
		c.begin(request, parts, rt.QueueReconcile, log)
	}

	left, err := c.end(ctx, rt, log)
	if err != nil {
		return false, err
	}

	switch {
	case len(left) > 0 && time.Now().Before(c.ending.deadline):
		return false, nil
	case len(left) > 0:
		log.Error("the machine goes down although participants still run", "left", strings.Join(left, ", "))
	}

	return true, c.act(log)
}

// begin begins the shutdown with the participants that run now, and prevents new ones.
func (c *PowerController) begin(request runtime.PowerRequestSpec, parts []Participant, wake func(), log *slog.Logger) {
	log.Info("the machine goes down", "action", request.Action, "reason", request.Reason, "force", request.Force)
	c.Close()

	longest := othersTime
	c.ending = &ending{request: request, parts: map[string]Participant{}, stops: map[string]*stop{}, wake: wake}

	for _, p := range parts {
		c.ending.parts[p.ID] = p
		longest += p.Timeout + lateness
	}

	c.ending.deadline = time.Now().Add(longest)
	time.AfterFunc(longest, wake)
	c.tell(&machine.SequenceEvent{Sequence: sequence(request), Action: machine.SequenceEvent_START})
}

// sequence returns the name by which clients know what the machine does.
func sequence(request runtime.PowerRequestSpec) string {
	if request.Reset {
		return "reset"
	}

	return string(request.Action)
}

// wipe is the phase of a reset after all participants have ended.
const wipe = "wipe"

func (c *PowerController) act(log *slog.Logger) error {
	action, name := c.ending.request.Action, sequence(c.ending.request)

	if c.ending.request.Reset {
		c.tell(&machine.PhaseEvent{Phase: wipe, Action: machine.PhaseEvent_START})

		// A machine that is switched off must be wiped.
		if err := c.Wipe(); err != nil {
			action = runtime.PowerReboot

			log.Error("the machine is not wiped yet: it goes on at the next boot", "error", err)
			c.tell(&machine.SequenceEvent{Sequence: name, Error: &common.Error{Code: common.Code_FATAL, Message: err.Error() + "; it goes on at the next boot"}})
		}

		c.tell(&machine.PhaseEvent{Phase: wipe, Action: machine.PhaseEvent_STOP})
	}

	c.tell(&machine.SequenceEvent{Sequence: name, Action: machine.SequenceEvent_STOP})
	c.tell(&machine.RestartEvent{Cmd: restartCommands[action]})

	err := c.Act(action)
	if err != nil {
		c.tell(&machine.SequenceEvent{Sequence: name, Error: &common.Error{Code: common.Code_FATAL, Message: err.Error()}})
	}

	return err
}

func (c *PowerController) tell(event proto.Message) {
	if c.Publish != nil {
		c.Publish(event, c.ending.request.ActorID)
	}
}

// restartCommands are the commands of reboot(2), for the event.
var restartCommands = map[runtime.PowerAction]int64{
	runtime.PowerReboot:   unix.LINUX_REBOOT_CMD_RESTART,
	runtime.PowerShutdown: unix.LINUX_REBOOT_CMD_POWER_OFF,
}

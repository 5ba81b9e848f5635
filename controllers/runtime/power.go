// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// PowerController carries out the wish that the machine goes down. What has to happen first is given as steps, each
// with its own time: one that fails or takes too long is logged and passed over, because a machine that was told to
// go down must go down.
type PowerController struct {
	// Steps in order; those after Sync run even when the wish is forced.
	Steps []PowerStep
	// Act ends the machine; it returns only on failure.
	Act func(runtime.PowerAction) error
	// Publish tells the actor of the wish, and whoever else watches, how far it is; nil tells nobody.
	Publish func(event proto.Message, actorID string)
}

// PowerStep is one thing to do before the machine goes down.
type PowerStep struct {
	Name    string
	Timeout time.Duration
	// Forced steps run even when the wish is forced.
	Forced bool
	Run    func(ctx context.Context, request runtime.PowerRequestSpec) error
}

// Name implements controller.Controller.
func (*PowerController) Name() string { return "runtime.PowerController" }

// Inputs implements controller.Controller.
func (*PowerController) Inputs() []controller.Input {
	return []controller.Input{controller.In[runtime.PowerRequestSpec](controller.Strong, "", runtime.PowerRequestID)}
}

// Outputs implements controller.Controller.
func (*PowerController) Outputs() []controller.Output { return nil }

// Run implements controller.Controller.
func (c *PowerController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
		}

		request, err := typed.Find[runtime.PowerRequestSpec](ctx, rt, "", runtime.PowerRequestID)
		if err != nil {
			return err
		}

		if request == nil {
			continue
		}

		return c.goDown(ctx, *request.TypedSpec(), log)
	}
}

func (c *PowerController) goDown(ctx context.Context, request runtime.PowerRequestSpec, log *slog.Logger) error {
	log.Info("the machine goes down", "action", request.Action, "reason", request.Reason, "force", request.Force)

	tell := func(event proto.Message) {
		if c.Publish != nil {
			c.Publish(event, request.ActorID)
		}
	}
	sequence := string(request.Action)

	tell(&machine.SequenceEvent{Sequence: sequence, Action: machine.SequenceEvent_START})

	for _, step := range c.Steps {
		if request.Force && !step.Forced {
			continue
		}

		start := time.Now()

		tell(&machine.PhaseEvent{Phase: step.Name, Action: machine.PhaseEvent_START})

		err := runStep(ctx, step, request)

		// A step that failed is over too: the machine goes down all the same.
		tell(&machine.PhaseEvent{Phase: step.Name, Action: machine.PhaseEvent_STOP})

		if err != nil {
			log.Error("step failed, going on", "step", step.Name, "error", err, "took", time.Since(start))
		} else {
			log.Info("step done", "step", step.Name, "took", time.Since(start))
		}
	}

	tell(&machine.SequenceEvent{Sequence: sequence, Action: machine.SequenceEvent_STOP})
	tell(&machine.RestartEvent{Cmd: restartCommands[request.Action]})

	err := c.Act(request.Action)
	if err != nil {
		tell(&machine.SequenceEvent{Sequence: sequence, Error: &common.Error{Code: common.Code_FATAL, Message: err.Error()}})
	}

	return err
}

// restartCommands are those of reboot(2), which the event names.
var restartCommands = map[runtime.PowerAction]int64{
	runtime.PowerReboot:   unix.LINUX_REBOOT_CMD_RESTART,
	runtime.PowerShutdown: unix.LINUX_REBOOT_CMD_POWER_OFF,
}

// runStep gives up on a step that ignores its context: it may hang in the kernel.
func runStep(ctx context.Context, step PowerStep, request runtime.PowerRequestSpec) error {
	ctx, cancel := context.WithTimeout(ctx, step.Timeout)
	defer cancel()

	select {
	case err := <-guard.Go(func() error { return step.Run(ctx, request) }):
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WaitForOthers is the step that waits for whoever holds a finalizer on the wish.
func WaitForOthers(st state.State, timeout time.Duration) PowerStep {
	return PowerStep{
		Name: "wait for the finalizers", Timeout: timeout,
		Run: func(ctx context.Context, _ runtime.PowerRequestSpec) error {
			ptr := resource.PointerOf[runtime.PowerRequestSpec]("", runtime.PowerRequestID)
			if _, err := st.Teardown(ctx, ptr); err != nil {
				return err
			}

			_, err := st.WatchFor(ctx, ptr, state.FinalizersEmpty())

			return err
		},
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/plan"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/consequences"
	"github.com/seed-59268b81/talos/controllers/validation"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// Mode is when a new configuration takes effect.
type Mode int

// The modes. None restarts the machine.
const (
	// Now stores it and puts it in effect, for good.
	Now Mode = iota
	// Staged has the next boot try it, as Default does, where that is possible; elsewhere it is StagedNow.
	Staged
	// StagedNow stores it for the next boot, for good.
	StagedNow
	// Try puts it in effect for a limited time, unless a person confirms it (Decide). Until then a reboot or a power cut reverts it too.
	Try
	// TryHealthy is Try for a configuration that is committed as soon as the machine has been healthy with it for a while.
	TryHealthy
	// Default is TryHealthy where that is possible, and Now where it is not: on a machine without a configuration, for example.
	Default
)

// byItself reports whether a machine with a configuration takes the new one for good without being asked for that.
func (m Mode) byItself() bool { return m == Staged || m == TryHealthy || m == Default }

// DefaultTrial is how long a trial lasts when the caller does not say.
const DefaultTrial = time.Minute

// Change is a request to change the configuration.
type Change struct {
	Text   []byte
	Mode   Mode
	DryRun bool
	// Trial is how long a trial lasts.
	Trial time.Duration
	// From is the configuration that the new one was made from: if it is not the machine's any more, the change is refused. Without an ID
	// nothing is checked.
	From Version
	// By is who made the change, for the record of a trial.
	By string
	// Caller is the address of the machine from which the change comes, or the zero value: it must not shut itself out.
	Caller netip.Addr
	// Anonymous is set for a caller that may not change a configured machine: only a first configuration is accepted.
	Anonymous bool

	// answers is how the cluster answers before the change.
	answers answers
}

// Applied is the result of a Change.
type Applied struct {
	Warnings []string
	Details  string
	// Config is the decoded text.
	Config *config.Config
}

// The classes of a refusal.
var (
	ErrInvalid  = errors.New("invalid configuration")
	ErrDenied   = errors.New("not allowed")
	ErrNotReady = errors.New("not ready")
	ErrChanged  = errors.New("the configuration has changed")
)

type request struct {
	Change

	answer chan answer
}

type answer struct {
	Applied

	err error
}

// Apply checks a configuration and puts it in effect. It returns when the configuration has effect and, unless it is a trial, is stored.
// A refusal is one of ErrInvalid, ErrDenied, ErrNotReady and ErrChanged, and leaves everything as it was.
func (c *Controller) Apply(ctx context.Context, change Change) (Applied, error) {
	if change.Mode != Now && change.Mode != StagedNow && !change.DryRun {
		change.answers = c.askBefore(ctx)
	}

	req := request{Change: change, answer: make(chan answer, 1)}

	select {
	case c.requests <- req:
	case <-ctx.Done():
		return Applied{}, fmt.Errorf("%w: %w", ErrNotReady, ctx.Err())
	}

	select {
	case a := <-req.answer:
		return a.Applied, a.err
	case <-ctx.Done():
		return Applied{}, fmt.Errorf("%w: %w", ErrNotReady, ctx.Err())
	}
}

func (c *Controller) apply(ctx context.Context, rt controller.Runtime, req request, log *slog.Logger) answer {
	var active configres.MachineConfigSpec
	if f := typed.Read(ctx, rt, configres.ActiveID, &active); f.Err != nil {
		return answer{err: f.Err}
	}

	// Documents without a main one are in effect while the machine has no configuration.
	current, partial := active.Config(), 0
	if current != nil && !active.View().Complete() {
		current, partial = nil, 1
	}

	if req.Anonymous && current == nil {
		// A machine whose configuration is staged, or cannot be decoded, has administrators too.
		stored, err := typed.List[configres.MachineConfigSpec](ctx, rt, "")
		if err != nil {
			return answer{err: err}
		}

		if c.state.closed || len(stored) > partial {
			return answer{err: fmt.Errorf("%w: the machine has a stored configuration; use a client certificate of its administrator (without --insecure)", ErrDenied)}
		}

		if c.state.phase == searching {
			return answer{err: fmt.Errorf("%w: the machine is still looking for its configuration", ErrNotReady)}
		}
	}

	cfg, warnings, err := check(current, req.Change, c.mode)
	if err != nil {
		return answer{err: err}
	}

	if !view.Of(cfg).Complete() {
		return c.applyPart(ctx, rt, cfg, req.Change, warnings, log)
	}

	if err := unchanged(ctx, rt, req.From); err != nil {
		return answer{err: err}
	}

	a := answer{Applied: Applied{Warnings: warnings, Config: cfg}}

	if req.DryRun {
		a.Details = "Dry run summary:\n" + describe(current, cfg, req.Mode)

		if c.store == nil && c.state.disk == none {
			text, err := c.checkInstall(ctx, cfg)
			if err != nil {
				return answer{err: err}
			}

			a.Details += "The machine " + text + "\n"
		}

		return a
	}

	if c.store == nil && c.state.disk == none {
		if a.Details, err = c.install(ctx, rt, cfg, req.Change, log); err != nil {
			return answer{err: err}
		}

		return a
	}

	if c.store == nil {
		return answer{err: fmt.Errorf("%w: the STATE partition is not mounted yet (see talosctl get volumestatus)", ErrNotReady)}
	}

	a.Details, err = c.effect(ctx, rt, current, cfg, req.Change, log)
	if err != nil {
		return answer{err: err}
	}

	log.Info("a configuration was applied", "details", a.Details)

	return a
}

// check validates a change, and changes nothing.
func check(current *config.Config, change Change, mode validate.Mode) (*config.Config, []string, error) {
	if change.Anonymous && current != nil {
		return nil, nil, fmt.Errorf("%w: the machine has a configuration; use a client certificate of its administrator (without --insecure)", ErrDenied)
	}

	decode := config.DecodeForBoot
	if change.Anonymous {
		decode = config.Decode
	}

	cfg, err := decode(change.Text)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}

	warnings, err := validation.Config(cfg, mode)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}

	if current != nil {
		ofChange, err := validate.Change(current, cfg)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}

		warnings = append(warnings, ofChange...)
	}

	if change.Caller.IsValid() {
		if err := validate.Excludes(current, cfg, change.Caller); err != nil && current != nil && change.Mode.byItself() {
			return nil, nil, fmt.Errorf("%w: %w; or try the configuration (--mode try), and confirm it from where the rules accept connections", ErrInvalid, err)
		} else if err != nil {
			warnings = append(warnings, err.Error())
		}
	}

	return cfg, warnings, nil
}

// applyPart puts documents in effect that come without a main one, in a machine that has no configuration. They are not stored: a
// complete configuration takes their place.
func (c *Controller) applyPart(ctx context.Context, rt controller.Runtime, cfg *config.Config, change Change, warnings []string, log *slog.Logger) answer {
	switch {
	case c.state.phase != settled:
		return answer{err: fmt.Errorf("%w: the machine has found a configuration, and is about to store it", ErrNotReady)}
	case change.Mode != Now && change.Mode != Default:
		return answer{err: fmt.Errorf("%w: documents without a v1alpha1 document (the one with machine and cluster) take effect at once, and are "+
			"not stored: apply them without another mode", ErrInvalid)}
	}

	all, err := join(c.partial, change.Text)
	if err != nil {
		return answer{err: fmt.Errorf("%w: %w", ErrInvalid, err)}
	}

	if _, err := validation.Config(all, c.mode); err != nil {
		return answer{err: fmt.Errorf("%w: together with the documents that are in effect: %w", ErrInvalid, err)}
	}

	a := answer{Applied: Applied{Warnings: warnings, Config: all}}

	if change.DryRun {
		a.Details = "Dry run summary:\n" + describe(nil, all, change.Mode)

		return a
	}

	if err := c.handle(ctx, rt, partApplied{all}, log); err != nil {
		return answer{err: err}
	}

	c.partial = all.Bytes()
	a.Details = "The documents are in effect until the machine restarts or has a complete configuration, which it still waits for"

	return a
}

func (c *Controller) effect(ctx context.Context, rt controller.Runtime, current, cfg *config.Config, change Change, log *slog.Logger) (string, error) {
	switch change.Mode {
	case Try, TryHealthy:
		return c.try(ctx, rt, current, cfg, change, log)
	case Default:
		return c.byDefault(ctx, rt, current, cfg, change, log)
	case Staged:
		return c.stage(ctx, rt, current, cfg, change, log)
	case StagedNow:
		return c.stageNow(ctx, rt, cfg, change, log)
	}

	if err := c.store.save(cfg); err != nil {
		return "", err
	}

	if err := c.handle(ctx, rt, applied{cfg}, log); err != nil {
		return "", err
	}

	c.settleTrial(ctx, rt, cfg, change.By, log)

	return "Applied configuration without a reboot", nil
}

// describe returns the plan of a change: what changes in the text, and what the machine does.
func describe(current, cfg *config.Config, mode Mode) string {
	p := plan.Compare(current, cfg)

	switch {
	case p.Empty():
		return "No changes.\n"
	case current == nil:
		return p.Diff
	case mode == Staged || mode == StagedNow:
		return p.Diff + "\nThe change:\n- has effect after the next reboot\n"
	default:
		return p.Diff + "\nThe change:\n- " + strings.Join(consequences.Of(current, cfg), "\n- ") + "\n"
	}
}

// destroy removes a resource of this controller, if it exists.
func destroy(ctx context.Context, rt controller.Runtime, ptr resource.Pointer) error {
	ready, err := rt.Teardown(ctx, ptr)
	if state.IsNotFound(err) {
		return nil
	}

	if err != nil || !ready {
		return err
	}

	return rt.Destroy(ctx, ptr)
}

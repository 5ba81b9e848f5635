// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// leave decides about a trial when the machine goes down in order, while STATE is still mounted.
func (c *Controller) leave(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	t := &c.trials
	if t.leaving {
		return nil
	}

	var request runtime.PowerRequestSpec

	f := typed.Read(ctx, rt, runtime.PowerRequestID, &request)
	if !f.OK {
		return f.Err
	}

	t.leaving = true

	if t.running() && !request.Reset {
		event := trial.Leave{Now: t.now(), Boot: t.boot, Why: fmt.Sprintf("the machine goes down: %s", request.Action)}

		if c.store != nil {
			if text, err := c.store.load(); err == nil && text != nil {
				event.Config = config.Digest(text)
			}
		}

		c.judge(ctx, rt, event, log)
	}

	return nil
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/access"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/meta"
)

// Meta keeps the certificates of the administrators' authorities beside STATE, on a partition of its own: whatever becomes of
// STATE, a machine that was configured once stays closed to strangers, and its administrators get in. It has no key, so the API
// answers with a certificate of this boot (talosctl --insecure shows the client certificate when it is asked for one).
type Meta interface {
	// Get returns nil when there is none, meta.ErrNotLoaded of the controllers before META was found.
	Get(tag meta.Tag) ([]byte, error)
	Set(tag meta.Tag, value []byte) error
}

const (
	// latePatience is how long STATE may take to be mounted after META was read, before the administrators are let in by what META
	// knows. The log of a large file system is replayed in less.
	latePatience = 20 * time.Second
	// metaRetry is when a write to META is tried again.
	metaRetry = time.Minute
)

// administrators returns what META knows. Configured is whether the machine had a configuration, as far as META tells; loaded,
// whether META was read at all.
func (c *Controller) administrators() (known *config.Config, configured, loaded bool, err error) {
	text, err := c.meta.Get(meta.Administrators)

	switch {
	case errors.Is(err, metactl.ErrNotLoaded):
		return nil, false, false, nil
	case err != nil: // it may have had them
		return nil, true, true, err
	case text == nil:
		return nil, false, true, nil
	}

	if known, err = access.DecodeAuthorities(text); err != nil {
		err = fmt.Errorf("META key %s: %w", meta.Administrators, err)
	}

	return known, true, true, err
}

// askMeta tells what META knows of a machine whose STATE has nothing, or nothing that can be used. It reports whether META was
// read.
func (c *Controller) askMeta(log *slog.Logger) bool {
	known, configured, loaded, err := c.administrators()
	if !loaded {
		return false
	}

	if configured {
		c.shut(errors.New("the stored configuration is gone"), log)
		c.access = known
	}

	if c.closed && known == nil {
		log.Error("it is not known who the administrators are: start with the kernel argument "+cmdline.ConfigInline+" to give the machine another configuration", "error", err)
	}

	return true
}

// wait lets the administrators in whom META knows when STATE does not come: it cannot be read, or is no file system any more. It
// is used as soon as it comes.
func (c *Controller) wait(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	if _, configured, _, _ := c.administrators(); !configured || c.overdue {
		return nil
	}

	if c.waited.IsZero() {
		c.waited = time.Now()
		time.AfterFunc(latePatience, rt.QueueReconcile)
	}

	if time.Since(c.waited) < latePatience {
		return nil
	}

	c.overdue, c.coming = true, false
	c.shut(fmt.Errorf("STATE was not mounted in %s (talosctl get volumestatus tells why): the stored configuration cannot be read", latePatience), log)
	c.askMeta(log)

	return c.open(ctx, rt)
}

// remember has META know the administrators of a stored configuration; what is to be remembered waits until META takes it. An
// error of META keeps nobody from changing the configuration.
func (c *Controller) remember(cfg *config.Config, wake func(), log *slog.Logger) {
	now := time.Now()

	if cfg != nil {
		c.unremembered = cfg
	} else if c.unremembered == nil || now.Before(c.retry) {
		return
	}

	text, err := access.EncodeAuthorities(c.unremembered)
	if err == nil {
		err = c.meta.Set(meta.Administrators, text)
	}

	switch {
	case err == nil:
		c.unremembered = nil
	case errors.Is(err, metactl.ErrNotLoaded): // an event comes when it is
	default:
		log.Error("META does not have the authorities of the administrators: if STATE were damaged now, those before would be let in, or no one", "error", err)

		if !now.Before(c.retry) {
			c.retry = now.Add(metaRetry)
			time.AfterFunc(metaRetry, wake)
		}
	}
}

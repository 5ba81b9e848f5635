// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/config/access"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
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

// administrators returns what META knows.
func (c *Controller) administrators() metaRead {
	text, err := c.meta.Get(meta.Administrators)

	switch {
	case errors.Is(err, metactl.ErrNotLoaded):
		return metaRead{}
	case err != nil: // it may have had them
		return metaRead{configured: true, loaded: true, err: err}
	case text == nil:
		return metaRead{loaded: true}
	}

	known, err := access.DecodeAuthorities(text)
	if err != nil {
		err = fmt.Errorf("META key %s: %w", meta.Administrators, err)
	}

	return metaRead{known, true, true, err}
}

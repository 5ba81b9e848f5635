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

// Meta keeps the certificates of the administrators' authorities outside STATE, on a partition of its own. Even if STATE is lost, a
// machine that was configured once stays closed to strangers and open to its administrators. META has no keys, so the API then has a
// certificate of this boot (talosctl --insecure sends the client certificate when the server requests one).
type Meta interface {
	// Get returns nil when there is no value, and ErrNotLoaded of controllers/meta before META was found.
	Get(tag meta.Tag) ([]byte, error)
	Set(tag meta.Tag, value []byte) error
	Delete(tag meta.Tag) error
}

// administrators returns the content of META.
func (c *Controller) administrators() metaRead {
	text, err := c.meta.Get(meta.Administrators)

	switch {
	case errors.Is(err, metactl.ErrNotLoaded):
		return metaRead{}
	case err != nil: // the machine may have had administrators
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

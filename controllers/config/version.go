// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// Version is one state of a configuration of the machine.
type Version struct {
	// ID is that of the resource: the active configuration, or the one of the next boot.
	ID string
	// Digest is that of its text.
	Digest string
}

// ParseVersion reads ID:DIGEST.
func ParseVersion(text string) (Version, error) {
	id, digest, _ := strings.Cut(text, ":")

	if (id != configres.ActiveID && id != configres.PersistentID) || digest == "" {
		return Version{}, fmt.Errorf("the version of a configuration %q is not %s:DIGEST or %s:DIGEST", text, configres.ActiveID, configres.PersistentID)
	}

	return Version{id, digest}, nil
}

// unchanged returns an error if the machine does not have a version any more.
func unchanged(ctx context.Context, r state.Reader, from Version) error {
	if from.ID == "" {
		return nil
	}

	var now configres.MachineConfigSpec

	f := typed.Read(ctx, r, from.ID, &now)

	switch {
	case f.Err != nil:
		return f.Err
	case !f.OK:
		return fmt.Errorf("%w: the machine has no configuration %s; read it again and repeat the change", ErrChanged, from.ID)
	case config.Digest(now.Bytes()) != from.Digest:
		return fmt.Errorf("%w since it was read, and the change would undo that; read it again and repeat the change", ErrChanged)
	default:
		return nil
	}
}

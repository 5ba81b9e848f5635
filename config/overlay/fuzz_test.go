// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/effects"
	"github.com/seed-59268b81/talos/config/overlay"
	"github.com/seed-59268b81/talos/config/validate"
)

// FuzzDocuments: whatever a configuration says, checking it and putting its documents over the main one does not panic.
func FuzzDocuments(f *testing.F) {
	for _, name := range config.Kinds() {
		kind, _ := config.KindOf(name)
		f.Add([]byte(kind.Example))
		f.Add([]byte("machine: {type: controlplane}\n---\n" + kind.Example))
	}

	f.Add(configtest.ControlPlane(f))

	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := config.Decode(text)
		if err != nil {
			return
		}

		overlay.Of(cfg)
		effects.Warnings(cfg)
		validate.Validate(cfg, validate.Metal) // what it finds does not matter
	})
}

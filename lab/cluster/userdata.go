// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/qemu/accel"
	"github.com/seed-59268b81/talos/lab/state"
)

// UserData gives each machine of a lab the configuration of its role as user data. It adds secrets to the options if they have none, so that
// Generate with the same options makes a client configuration for the same cluster.
func UserData(kubernetesVersion string, options *generate.Options) (lab.UserData, error) {
	if options.Secrets == nil {
		var err error
		if options.Secrets, err = secrets.New(); err != nil {
			return nil, err
		}
	}

	return func(ctx context.Context, s *state.Lab, n *state.Node) ([]byte, error) {
		emulated := s.Uses(state.QEMU) && !accel.Choose(ctx, s.Machine.QEMU).KVM

		made, err := configurations(s, emulated, kubernetesVersion, *options)
		if err != nil {
			return nil, err
		}

		return forRole(made, n.Role), nil
	}, nil
}

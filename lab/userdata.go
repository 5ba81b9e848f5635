// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/lab/gateway"
	"github.com/seed-59268b81/talos/lab/gateway/metadata"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// UserData returns the user data of a machine of a planned lab: its configuration.
type UserData func(ctx context.Context, lab *state.Lab, node *state.Node) ([]byte, error)

// cloudArgs returns the kernel arguments of virtual machines on a cloud, or on none.
func cloudArgs(cloud, domain string) []string {
	switch cloud {
	case "":
		return nil
	case metadata.Metal:
		// Each network has a gateway of this name.
		return []string{fmt.Sprintf("%s=http://%s.%s%s?uuid=${uuid}&mac=${mac}&hostname=${hostname}", cmdline.Config, gateway.PortName, domain, metadata.ConfigPath)}
	default:
		return []string{cmdline.Platform + "=" + cloud}
	}
}

func (o *Options) args() []string { return cloudArgs(o.Cloud, o.domain()) }

// diskArgs returns the arguments that a disk image needs to boot with. An image beside a kernel does not boot.
func (o *Options) diskArgs() []string {
	if o.Image.Kernel != "" {
		return nil
	}

	return o.args()
}

// checkUserData returns an error if the cloud has no metadata server, or if virtual machines could not get their user data.
func (o *Options) checkUserData() error {
	if o.Cloud != "" && o.Cloud != metadata.Metal && !slices.Contains(metadata.Platforms(), o.Cloud) {
		return fmt.Errorf("cloud %q: want %s or one of %s", o.Cloud, metadata.Metal, strings.Join(metadata.Platforms(), ", "))
	}

	cloud := o.Cloud != "" || slices.ContainsFunc(o.Networks, func(n world.Network) bool { return n.Services.Cloud != "" })

	if o.UserData != nil && !cloud && o.uses(state.QEMU) {
		return errors.New("user data: virtual machines get it from the metadata server of a cloud, and none is configured")
	}

	return nil
}

// writeUserData writes the user data of all machines into their directories.
func writeUserData(ctx context.Context, s *state.Lab, of UserData) error {
	if of == nil {
		return nil
	}

	for i := range s.Nodes {
		n := &s.Nodes[i]

		text, err := of(ctx, s, n)
		if err == nil {
			err = os.WriteFile(s.UserDataPath(n.Name), text, 0o600)
		}

		if err != nil {
			return fmt.Errorf("user data of %s: %w", n.Name, err)
		}
	}

	return nil
}

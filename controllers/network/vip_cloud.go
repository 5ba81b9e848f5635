// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"time"

	"github.com/seed-59268b81/talos/controllers/network/cloudvip"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// MoveVIP makes a cloud send the packets to a virtual address to this machine.
type MoveVIP func(ctx context.Context, vip network.VIPOperatorSpec) error

// moveByCloud is MoveVIP by the API of the cloud that the address has settings for. Without one it does nothing.
func moveByCloud(ctx context.Context, vip network.VIPOperatorSpec) error {
	switch {
	case vip.HCloud.APIToken != "":
		return cloudvip.HCloud(vip.HCloud.APIToken).Move(ctx, vip.IP)
	case vip.EquinixMetal.APIToken != "":
		return cloudvip.EquinixMetal(vip.EquinixMetal.APIToken).Move(ctx, vip.IP)
	default:
		return nil
	}
}

// moveAgain is the pause after a cloud did not move the address. Its API limits the number of calls.
const moveAgain = 10 * time.Second

// electAndMove returns an election of which the winner moves the address in the cloud before it holds it. One that cannot lets
// another machine try.
func (c *vips) electAndMove(v *vip) Elect {
	return func(ctx context.Context, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, key string, fn func(context.Context) error) error {
		var failed error

		err := c.elect(ctx, root, certs, key, func(ctx context.Context) error {
			if failed = c.move(ctx, *v.settings.Load()); failed != nil {
				return failed
			}

			return fn(ctx)
		})

		if failed != nil {
			err = &moveError{failed}
		}

		return err
	}
}

// moveError is the error of a cloud.
type moveError struct{ error }

// Unwrap returns the cause.
func (e *moveError) Unwrap() error { return e.error }

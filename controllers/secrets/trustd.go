// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// trustdController issues trustd's certificate, on control planes.
func trustdController() controller.Controller {
	return daemon[secrets.TrustdCertsSpec]{
		name: "secrets.TrustdController", id: secrets.TrustdID,
		wants: func(context.Context, state.Reader) (func(*secrets.TrustdCertsSpec, secrets.OSRootSpec) *secrets.CertAndKey, error) {
			return func(next *secrets.TrustdCertsSpec, root secrets.OSRootSpec) *secrets.CertAndKey {
				next.AcceptedCAs = root.AcceptedCAs

				return &next.Server
			}, nil
		},
	}.controller()
}

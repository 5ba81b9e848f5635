// SPDX-License-Identifier: Apache-2.0

//go:build linux

package security

import (
	"fmt"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/security"
)

// ImageVerificationConfigController shows the rules by which images may be pulled. The pulls themselves read a file, which
// cri.ContainerdController writes before containerd starts: an image must not be pulled while some of the rules are missing.
func ImageVerificationConfigController() controller.Controller {
	const name = "security.ImageVerificationConfigController"

	return fromconfig.Many(name, controller.Exclusive, func(cfg *view.Config) (map[string]security.ImageVerificationRuleSpec, error) {
		specs := map[string]security.ImageVerificationRuleSpec{}

		for i, rule := range cfg.ImageRules() {
			spec := security.ImageVerificationRuleSpec{ImagePattern: rule.Image, Skip: rule.Skip, Deny: rule.Deny}
			if rule.PublicKey != "" {
				spec.PublicKeyVerifier = &security.ImagePublicKeyVerifierSpec{Certificate: rule.PublicKey}
			}

			specs[fmt.Sprintf("%04d", i)] = spec
		}

		return specs, nil
	})
}

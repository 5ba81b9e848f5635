// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hardware

import (
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/files"
)

// UdevRulesController has the file with the udev rules of the configuration. The file is there without rules too: udevd waits for it.
func UdevRulesController() controller.Controller {
	return fromconfig.Many("files.UdevRulesController", controller.Shared, func(cfg *view.Config) (map[string]files.EtcFileSpecSpec, error) {
		var text strings.Builder

		for _, rule := range cfg.UdevRules() {
			text.WriteString(strings.TrimSuffix(rule, "\n") + "\n")
		}

		return map[string]files.EtcFileSpecSpec{layout.UdevRules: {Contents: text.String(), Mode: 0o644}}, nil
	})
}

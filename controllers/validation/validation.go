// SPDX-License-Identifier: Apache-2.0

// Package validation checks, before a configuration is accepted, that a machine can carry it out.
//
// Package config/validate knows the values of each setting. That is not enough: the functions that render command lines, pods and
// files may refuse a setting too. So this package calls these functions with the new configuration, and refuses what they refuse. It
// changes nothing.
package validation

import (
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/config/view"
	crisettings "github.com/seed-59268b81/talos/controllers/cri/settings"
	etcdsettings "github.com/seed-59268b81/talos/controllers/etcd/settings"
	k8ssettings "github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/controllers/network/linkalias"
	"github.com/seed-59268b81/talos/controllers/runtime/oomrules"
)

// Config checks a configuration for a mode. The error, when there is one, is of type validate.Findings.
func Config(cfg *config.Config, mode validate.Mode) (warnings []string, err error) {
	var findings validate.Findings

	warnings, err = validate.Validate(cfg, mode)
	if found, ok := err.(validate.Findings); ok { // it is not wrapped
		findings = found
	} else if err != nil {
		return warnings, err
	}

	says := view.Of(cfg)
	findings = append(findings, crisettings.Check(says)...)
	findings = append(findings, linkalias.Check(says)...)
	findings = append(findings, oomrules.Check(says)...)

	if says.Complete() {
		findings = append(findings, k8ssettings.Check(says)...)

		if says.Type().IsControlPlane() {
			if err := etcdsettings.Check(says); err != nil {
				findings = append(findings, validate.Finding{Path: "cluster.etcd", Text: err.Error()})
			}
		}
	}

	if len(findings) == 0 {
		return warnings, nil
	}

	slices.SortStableFunc(findings, func(a, b validate.Finding) int { return strings.Compare(a.Path, b.Path) })

	return warnings, findings
}

// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"fmt"
	"maps"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// nodeSpecControllers create a spec for each label, annotation and taint of the machine configuration.
func nodeSpecControllers() []controller.Controller {
	return []controller.Controller{
		fromconfig.Many("k8s.NodeLabelSpecController", controller.Exclusive, func(cfg *view.Config) (map[string]k8s.NodeLabelSpecSpec, error) {
			out := map[string]k8s.NodeLabelSpecSpec{}
			for key, value := range nodeLabels(cfg) {
				out[key] = k8s.NodeLabelSpecSpec{Key: key, Value: value}
			}

			return out, nil
		}),
		nodeAnnotationController(),
		fromconfig.Many("k8s.NodeTaintSpecController", controller.Exclusive, func(cfg *view.Config) (map[string]k8s.NodeTaintSpecSpec, error) {
			out := map[string]k8s.NodeTaintSpecSpec{}

			for key, taint := range settings.NodeTaints(cfg) {
				value, effect, ok := strings.Cut(taint, ":")
				if !ok {
					value, effect = "", taint
				}

				switch effect {
				case "NoSchedule", "PreferNoSchedule", "NoExecute":
				default:
					return nil, fmt.Errorf("machine.nodeTaints: %s: effect %q is not known: want NoSchedule, PreferNoSchedule or NoExecute", key, effect)
				}

				out[key] = k8s.NodeTaintSpecSpec{Key: key, Value: value, Effect: effect}
			}

			return out, nil
		}),
	}
}

// nodeLabels returns the labels of the configuration, and on a control plane also the label of its role.
func nodeLabels(cfg *view.Config) map[string]string {
	out := maps.Clone(cfg.NodeLabels())

	if cfg.Type().IsControlPlane() {
		if out == nil {
			out = map[string]string{}
		}

		out[settings.ControlPlaneLabel] = ""
	}

	return out
}

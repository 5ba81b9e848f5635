// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/kube"
)

// StaticPodID returns the id of a pod of the configuration, which differs from those of the control plane.
func StaticPodID(pod view.Object) (string, error) {
	_, kind, namespace, name := kube.Identity(pod)

	if kind != "Pod" {
		return "", fmt.Errorf("kind is %v, want Pod", pod["kind"])
	}

	if name == "" {
		return "", fmt.Errorf("metadata.name is missing")
	}

	// The id becomes the name of a file.
	if strings.Contains(namespace+name, "/") {
		return "", fmt.Errorf("metadata: neither the name %q nor the namespace %q may have a slash", name, namespace)
	}

	return cmp.Or(namespace, "default") + "-" + name, nil
}

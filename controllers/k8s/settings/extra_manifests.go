// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"fmt"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// ExtraManifests returns the manifests of the configuration.
func ExtraManifests(cfg *view.Config) (*k8s.ExtraManifestsConfigSpec, error) {
	spec := &k8s.ExtraManifestsConfigSpec{}

	download := func(priority string, all ...view.ExternalManifest) {
		for _, m := range all {
			spec.ExtraManifests = append(spec.ExtraManifests, k8s.ExtraManifest{
				Name: cmp.Or(m.Name, manifestName(m.URL)), URL: m.URL, Priority: priority, ExtraHeaders: m.Headers,
			})
		}
	}

	if cni := cfg.CNI(); cni.Name == view.CNICustom {
		for _, url := range cni.URLs {
			download("05", view.ExternalManifest{URL: url})
		}
	}

	if cloud := cfg.ExternalCloudProvider(); view.IsTrue(cloud.Enabled) {
		for _, url := range cloud.Manifests {
			download("30", view.ExternalManifest{URL: url})
		}
	}

	download("99", cfg.ExternalManifests()...)

	for i, manifest := range cfg.InlineManifests() {
		if manifest.Name == "" {
			return nil, fmt.Errorf("cluster.inlineManifests[%d]: has no name", i)
		}

		spec.ExtraManifests = append(spec.ExtraManifests, k8s.ExtraManifest{
			Name: manifest.Name, Priority: "99", InlineManifest: manifest.Contents,
		})
	}

	return spec, unique(spec.ExtraManifests)
}

// unique returns an error if an inline manifest and another one would replace each other. The same URL twice is one manifest.
func unique(all []k8s.ExtraManifest) error {
	seen := map[string]k8s.ExtraManifest{}

	for _, m := range all {
		key := m.Priority + "-" + m.Name
		if other, twice := seen[key]; twice && (m.URL != other.URL || m.InlineManifest != "") {
			return fmt.Errorf("another manifest has the name %q too", m.Name)
		}

		seen[key] = m
	}

	return nil
}

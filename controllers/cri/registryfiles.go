// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"path/filepath"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/layout"
)

// RegistryFiles writes the files by which images are read through the registries of a configuration that is not in effect, and by its rules about
// images. It returns the paths of hosts and credentials in the folder.
func RegistryFiles(dir string, cfg *view.Config) (hosts, credentials string, err error) {
	hosts, credentials = filepath.Join(dir, "hosts"), filepath.Join(dir, "credentials.json")
	registries := settings.Registries(cfg.Registries(), "")

	if err := writeHosts(hosts, registries, cfg.TrustedRoots()); err != nil {
		return "", "", err
	}

	if err := writeRules(filepath.Join(dir, filepath.Base(layout.ImageRules)), rulesOf(cfg)); err != nil {
		return "", "", err
	}

	return hosts, credentials, writeCredentials(credentials, registries.RegistryAuths)
}

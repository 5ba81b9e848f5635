// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/resources/cri"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/imagerules"
)

// writeHosts writes the hosts folder, and removes other files from it.
func writeHosts(dir string, registries cri.RegistriesConfigSpec, roots string) error {
	files, err := renderHosts(registries, roots)
	if err != nil {
		return err
	}

	// A hosts file names others of its folder: these come first.
	for _, hosts := range []bool{false, true} {
		for path, content := range files {
			if hosts != (filepath.Base(path) == hostsFile) {
				continue
			}

			if err := writeIfChanged(filepath.Join(dir, path), content); err != nil {
				return err
			}
		}
	}

	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}

		if _, wanted := files[filepath.Join(name, hostsFile)]; name == "." || wanted {
			return nil
		}

		if _, wanted := files[name]; wanted {
			return nil
		}

		if err := os.RemoveAll(path); err != nil {
			return err
		}

		if e.IsDir() {
			return filepath.SkipDir
		}

		return nil
	})
}

// writeCredentials writes the credentials for the machine's own pulls.
func writeCredentials(path string, auths map[string]cri.RegistryAuthConfig) error {
	credentials := container.Credentials{}

	for host, a := range auths {
		credentials[host] = container.Credential{
			Username: a.RegistryUsername, Password: a.RegistryPassword, Auth: a.RegistryAuth, IdentityToken: a.RegistryIdentityToken,
		}
	}

	text, err := json.Marshal(credentials)
	if err != nil {
		return fmt.Errorf("credentials of registries: %w", err)
	}

	return writeIfChanged(path, text)
}

// rulesOf returns the rules by which images may be pulled.
func rulesOf(cfg *view.Config) imagerules.Rules {
	var rules imagerules.Rules

	for _, r := range cfg.ImageRules() {
		rules = append(rules, imagerules.Rule(r))
	}

	return rules
}

// writeRules writes the rules for all pulls, beside the credentials. There is no file without rules.
func writeRules(path string, rules imagerules.Rules) error {
	if len(rules) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rules of images: %w", err)
		}

		return nil
	}

	text, err := rules.Text()
	if err != nil {
		return err
	}

	return writeIfChanged(path, text)
}

func writeIfChanged(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}

	// containerd may read the file at any time. The folder is created again at each boot.
	return durable.WriteTo(durable.Files{Volatile: true}, path, content, 0o600)
}

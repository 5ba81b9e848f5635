// SPDX-License-Identifier: Apache-2.0

package talosconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/durable"
)

// The places of the file.
const (
	EnvPath   = "TALOSCONFIG"
	EnvHome   = "TALOS_HOME"
	PodPath   = "/var/run/secrets/talos.dev/config"
	directory = ".talos"
	fileName  = "config"
)

// Path returns the path of the file: the given one, $TALOSCONFIG, or config in $TALOS_HOME or ~/.talos. Within
// a pod where the last does not exist, it is the file that is mounted into the pod.
func Path(given string) (string, error) {
	if path := cmp.Or(given, os.Getenv(EnvPath)); path != "" {
		return path, nil
	}

	home := os.Getenv(EnvHome)

	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find talosconfig: %w: name the file with --talosconfig", err)
		}

		home = filepath.Join(user, directory)
	}

	path := filepath.Join(home, fileName)

	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(PodPath); err == nil {
			return PodPath, nil
		}
	}

	return path, nil
}

// Decode decodes the text of a file strictly. An empty text is a file without contexts.
func Decode(text []byte) (*Config, error) {
	var node yaml.Node

	if err := yaml.Unmarshal(text, &node); err != nil {
		return nil, fmt.Errorf("read talosconfig: not YAML: %w", err)
	}

	c := &Config{}

	if node.Kind != 0 {
		if err := strict.Decode(&node, c).Err(); err != nil {
			return nil, fmt.Errorf("read talosconfig: %w", err)
		}
	}

	for name, context := range c.Contexts {
		if context == nil {
			return nil, fmt.Errorf("read talosconfig: context %q is empty: remove it", name)
		}
	}

	return c, nil
}

// Load reads a file. If the file does not exist, the error matches fs.ErrNotExist.
func Load(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read talosconfig: %w", err)
	}

	c, err := Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	return c, nil
}

// LoadOrNew is Load, but returns an empty Config if the file does not exist.
func LoadOrNew(path string) (*Config, error) {
	c, err := Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Config{}, nil
	}

	return c, err
}

// Encode encodes the text of a file.
func (c *Config) Encode() ([]byte, error) { return config.Encode(c) }

// Save replaces the file atomically. Only the owner can read it. Save follows a symbolic link.
func (c *Config) Save(path string) error {
	text, err := c.Encode()
	if err != nil {
		return err
	}

	path = durable.Target(path)

	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write talosconfig: %w", err)
	}

	if err := durable.Write(path, text, 0o600); err != nil {
		return fmt.Errorf("write talosconfig: %w", err)
	}

	return nil
}

// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/clientcmd/api/latest"

	"github.com/seed-59268b81/talos/durable"
)

// Parse reads a kubeconfig, YAML or JSON.
func Parse(content []byte) (*api.Config, error) {
	config := api.NewConfig()

	if _, _, err := latest.Codec.Decode(content, nil, config); err != nil {
		return nil, fmt.Errorf("parse kubeconfig: %w", err)
	}

	return config, nil
}

// Read reads a kubeconfig file. One that does not exist, or is empty, is an empty kubeconfig.
func Read(path string) (*api.Config, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(content) == 0 {
		return api.NewConfig(), nil
	}

	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}

	config, err := Parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	return config, nil
}

// Write replaces the file in one step. It holds keys, so only its owner may read it.
func Write(path string, config *api.Config) error {
	content, err := runtime.Encode(latest.Codec, config)
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}

	return WriteContent(path, content)
}

// WriteContent is Write for a kubeconfig that is encoded.
func WriteContent(path string, content []byte) error {
	path = durable.Target(path)

	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}

	if err := durable.Write(path, content, 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}

	return nil
}

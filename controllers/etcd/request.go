// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/etcd"
)

// requestPath is where a request to start a cluster is kept until etcd has data: a request that was answered must survive a power
// cut. The file is beside the data directory, on the same volume.
const requestPath = layout.EtcdBootstrapFile

// keepRequest writes the request to the disk.
func keepRequest(root string, request etcd.BootstrapRequestSpec) error {
	path := filepath.Join(root, requestPath)

	text, err := json.Marshal(request)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}

	if err == nil {
		err = durable.Write(path, text, 0o600)
	}

	if err != nil {
		return fmt.Errorf("store the bootstrap request: %w", err)
	}

	return nil
}

// keptRequest returns the request on the disk, or nil. A damaged file is as good as none: then the machine can be asked again.
func keptRequest(root string) (*etcd.BootstrapRequestSpec, error) {
	text, err := os.ReadFile(filepath.Join(root, requestPath))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the bootstrap request: %w", err)
	}

	var request etcd.BootstrapRequestSpec
	if json.Unmarshal(text, &request) != nil {
		return nil, nil
	}

	return &request, nil
}

// forgetRequest removes a request that was carried out: if the data is ever lost, the same request must not start a second cluster.
func forgetRequest(root string) error {
	path := filepath.Join(root, requestPath)

	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("remove the bootstrap request: %w", err)
	}

	return durable.SyncDir(filepath.Dir(path))
}

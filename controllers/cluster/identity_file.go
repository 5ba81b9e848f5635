// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jxskiss/base62"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/durable"
)

// identityFile is on the STATE volume.
const identityFile = "node-identity.yaml"

type identityDocument struct {
	NodeID string `yaml:"nodeId"`
}

// loadIdentity reads the identity from a folder, or creates one there.
func loadIdentity(dir string) (string, error) {
	path := filepath.Join(dir, identityFile)

	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createIdentity(path)
	}

	if err != nil {
		return "", fmt.Errorf("node identity: %w", err)
	}

	var doc identityDocument

	err = yaml.Unmarshal(text, &doc)
	if err == nil && doc.NodeID == "" {
		err = errors.New("nodeId is missing")
	}

	if err == nil {
		_, err = machineID(doc.NodeID)
	}

	if err != nil {
		return "", fmt.Errorf("node identity %s: %w: remove the file to get a new identity", path, err)
	}

	return doc.NodeID, nil
}

// createIdentity writes a new identity so that a power cut leaves a whole file or none.
func createIdentity(path string) (id string, err error) {
	random := make([]byte, 32)
	rand.Read(random) // it never fails

	id = base62.EncodeToString(random)

	text, err := yaml.Marshal(identityDocument{NodeID: id})
	if err == nil {
		err = durable.Write(path, text, 0o600)
	}

	if err != nil {
		return "", fmt.Errorf("write node identity: %w", err)
	}

	return id, nil
}

// machineIDSize is that of machine-id(5), in bytes.
const machineIDSize = 16

// machineID returns the id as machine-id(5) defines it: 32 lower-case hexadecimal digits. They are the first half of the node's identity.
func machineID(nodeID string) (string, error) {
	identity, err := base62.DecodeString(nodeID)
	if err != nil || len(identity) < machineIDSize {
		return "", fmt.Errorf("nodeId %q is not in base 62, or shorter than %d bytes", nodeID, machineIDSize)
	}

	return hex.EncodeToString(identity[:machineIDSize]), nil
}

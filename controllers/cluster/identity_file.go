// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"
)

// identityFile is on the STATE volume.
const identityFile = "node-identity.yaml"

type identityDocument struct {
	NodeID string `yaml:"nodeId"`
}

// loadIdentity reads the identity from a folder, or makes one there.
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
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return "", fmt.Errorf("node identity %s: %w: remove the file to get a new identity", path, err)
	}

	if doc.NodeID == "" {
		return "", fmt.Errorf("node identity %s: nodeId is missing: remove the file to get a new identity", path)
	}

	return doc.NodeID, nil
}

// createIdentity writes a new identity so that a power cut leaves a whole file or none.
func createIdentity(path string) (id string, err error) {
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("node identity: %w", err)
	}

	id = new(big.Int).SetBytes(random).Text(62)

	text, err := yaml.Marshal(identityDocument{NodeID: id})
	if err != nil {
		return "", fmt.Errorf("node identity: %w", err)
	}

	if err := writeDurably(path, text); err != nil {
		return "", fmt.Errorf("write node identity: %w", err)
	}

	return id, nil
}

func writeDurably(path string, text []byte) error {
	tmp := path + ".new"

	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}

	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}

	if err := os.Rename(tmp, path); err != nil {
		return err
	}

	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}

	return errors.Join(dir.Sync(), dir.Close())
}

// machineID is what machine-id(5) wants: 32 lower-case hexadecimal digits that do not give the node's id away.
func machineID(nodeID string) string {
	sum := sha256.Sum256([]byte("machine-id:" + nodeID))

	return hex.EncodeToString(sum[:16])
}

// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-59268b81/talos/version"
)

// Trees creates the folders of the two layers of a release in dir, and returns their paths. m has everything except Format, Name and Files;
// files are paths by name. Files are linked, so dir must be on their file system.
func Trees(dir string, m Manifest, files map[string]string) (layers [2]string, err error) {
	layers = [2]string{filepath.Join(dir, "manifest"), filepath.Join(dir, "files")}

	for _, layer := range layers {
		if err := os.MkdirAll(layer, 0o755); err != nil {
			return layers, err
		}
	}

	m.Format, m.Name, m.Files = Format, version.Name, nil

	var uki []byte

	if files[Kernel] != "" {
		if uki, err = os.ReadFile(files[UKI]); err != nil {
			return layers, fmt.Errorf("release %s: %w", m.Version, err)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := describe(name, files[name])

		if err == nil && (name == Kernel || name == Initramfs) {
			err = f.locate(uki, files[name])
		}

		if err == nil && f.Of == "" {
			err = os.Link(files[name], filepath.Join(layers[1], name))
		}

		if err != nil {
			return layers, fmt.Errorf("release %s: %w", m.Version, err)
		}

		m.Files = append(m.Files, f)
	}

	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return layers, err
	}

	// What is written can be read.
	if _, err := parse(b); err != nil {
		return layers, fmt.Errorf("release %s: %w", m.Version, err)
	}

	return layers, os.WriteFile(filepath.Join(layers[0], manifestName), b, 0o644)
}

// locate records where in a unified kernel image a file is, if it is there.
func (f *File) locate(uki []byte, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}

	if i := bytes.Index(uki, b); i >= 0 {
		f.Of, f.Offset = UKI, int64(i)
	}

	return nil
}

func describe(name, path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()

	h := sha256.New()

	n, err := io.Copy(h, f)

	return File{Name: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

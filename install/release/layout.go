// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Layout is a folder with an OCI image layout.
type Layout string

var _ Blobs = Layout("")

// only returns the one image of the layout.
func (l Layout) only() (Descriptor, error) {
	f, err := os.Open(filepath.Join(string(l), "index.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return Descriptor{}, fmt.Errorf("%w: it has no index.json", ErrNotOurs)
	}

	if err != nil {
		return Descriptor{}, err
	}
	defer f.Close()

	b, err := limited(f, f.Name(), maxJSON)
	if err != nil {
		return Descriptor{}, err
	}

	var all index
	if err := json.Unmarshal(b, &all); err != nil {
		return Descriptor{}, fmt.Errorf("%w: index.json: %w", ErrNotOurs, err)
	}

	if len(all.Manifests) != 1 {
		return Descriptor{}, fmt.Errorf("%w: it has %d images, want one", ErrNotOurs, len(all.Manifests))
	}

	return all.Manifests[0], nil
}

// Blob implements Blobs.
func (l Layout) Blob(digest string) (io.ReadCloser, int64, error) {
	f, err := os.Open(filepath.Join(string(l), "blobs", "sha256", strings.TrimPrefix(digest, "sha256:")))
	if err != nil {
		return nil, 0, err
	}

	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}

	return f, info.Size(), nil
}

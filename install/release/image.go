// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-59268b81/talos/install"
)

// Layout is a folder with an OCI image layout.
type Layout string

// Image is a release that was opened: its manifest is valid, and all its parts are there.
type Image struct {
	Manifest
	layout Layout
	files  descriptor
}

// Descriptors, manifests and indexes of OCI; only the fields that are needed.
type (
	descriptor struct {
		MediaType string `json:"mediaType"`
		Digest    string `json:"digest"`
		Size      int64  `json:"size"`
	}
	index struct {
		Manifests []descriptor `json:"manifests"`
	}
	imageManifest struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
)

const (
	zstdLayer = "application/vnd.oci.image.layer.v1.tar+zstd"
	// maxJSON limits the bytes of an index or manifest.
	maxJSON = 1 << 20
)

// Open opens the release in a layout. It reads everything except the files.
func Open(layout Layout) (*Image, error) {
	image, err := layout.open()
	if err != nil {
		return nil, fmt.Errorf("open release %s: %w", layout, err)
	}

	return image, nil
}

func (l Layout) open() (*Image, error) {
	b, err := readFile(filepath.Join(string(l), "index.json"), maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: it has no index.json", ErrNotOurs)
	}

	if err != nil {
		return nil, err
	}

	var all index
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("%w: index.json: %w", ErrNotOurs, err)
	}

	if len(all.Manifests) != 1 {
		return nil, fmt.Errorf("%w: it has %d images, want one", ErrNotOurs, len(all.Manifests))
	}

	if b, err = l.blob(all.Manifests[0], maxJSON); err != nil {
		return nil, err
	}

	var m imageManifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%w: manifest of the image: %w", ErrNotOurs, err)
	}

	if len(m.Layers) != 2 || m.Layers[0].MediaType != zstdLayer || m.Layers[1].MediaType != zstdLayer {
		return nil, fmt.Errorf("%w: it has %d layers, want two that are compressed with zstd", ErrNotOurs, len(m.Layers))
	}

	image := &Image{layout: l, files: m.Layers[1]}

	if image.Manifest, err = l.manifest(m.Layers[0]); err != nil {
		return nil, err
	}

	return image, l.there(image.files)
}

// manifest reads the layer with the manifest.
func (l Layout) manifest(layer descriptor) (Manifest, error) {
	if layer.Size > maxManifest {
		return Manifest{}, fmt.Errorf("%w: its first layer has no %s only", ErrNotOurs, manifestName)
	}

	b, err := l.blob(layer, maxManifest)
	if err != nil {
		return Manifest{}, err
	}

	f, err := find(io.NopCloser(bytes.NewReader(b)), manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, fmt.Errorf("%w: its first layer has no %s", ErrNotOurs, manifestName)
	}

	if err != nil {
		return Manifest{}, err
	}
	defer f.Close()

	if b, err = io.ReadAll(io.LimitReader(f, maxManifest+1)); err != nil {
		return Manifest{}, fmt.Errorf("%w: %s: %w", ErrIncomplete, manifestName, err)
	}

	return parse(b)
}

var digest = regexp.MustCompile(`^sha256:([0-9a-f]{64})$`)

// path returns where a blob is.
func (l Layout) path(d descriptor) (string, error) {
	m := digest.FindStringSubmatch(d.Digest)
	if m == nil {
		return "", fmt.Errorf("%w: digest %q is not SHA-256", ErrNotOurs, d.Digest)
	}

	return filepath.Join(string(l), "blobs", "sha256", m[1]), nil
}

// there returns an error if a blob is missing or has another size.
func (l Layout) there(d descriptor) error {
	path, err := l.path(d)
	if err != nil {
		return err
	}

	info, err := os.Stat(path)

	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s is missing: fetch the image again", ErrIncomplete, d.Digest)
	case err != nil:
		return err
	case info.Size() != d.Size:
		return fmt.Errorf("%w: %s has %d bytes, want %d: fetch the image again", ErrIncomplete, d.Digest, info.Size(), d.Size)
	default:
		return nil
	}
}

// blob reads a small blob and checks its digest.
func (l Layout) blob(d descriptor, limit int64) ([]byte, error) {
	if err := l.there(d); err != nil {
		return nil, err
	}

	path, err := l.path(d)
	if err != nil {
		return nil, err
	}

	b, err := readFile(path, limit)
	if err != nil {
		return nil, err
	}

	if sum := sha256.Sum256(b); "sha256:"+hex.EncodeToString(sum[:]) != d.Digest {
		return nil, fmt.Errorf("%w: %s has another digest: fetch the image again", ErrIncomplete, d.Digest)
	}

	return b, nil
}

func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s: has more than %d bytes", path, limit)
	}

	return b, err
}

// Source returns a file of the release, for package install, which compares its digest.
func (i *Image) Source(name string) (install.Source, error) {
	f, there := i.File(name)
	if !there {
		return install.Source{}, fmt.Errorf("release %s: %s: %w", i.Version, name, fs.ErrNotExist)
	}

	return install.Source{Size: f.Size, SHA256: f.SHA256, Open: func() (io.ReadCloser, error) {
		path, err := i.layout.path(i.files)
		if err != nil {
			return nil, err
		}

		blob, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("release %s: %w", i.Version, err)
		}

		content, err := find(blob, name)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: its second layer has no %s", ErrIncomplete, name)
		}

		if err != nil {
			return nil, fmt.Errorf("release %s: %w", i.Version, err)
		}

		return content, nil
	}}, nil
}

// entry is a file in a layer.
type entry struct {
	io.Reader
	unpacked *zstd.Decoder
	blob     io.Closer
}

// Close implements io.Closer.
func (e entry) Close() error {
	e.unpacked.Close()

	return e.blob.Close()
}

// maxWindow limits the memory of a decoder. Layers of the build have a window of 8 MiB at most.
const maxWindow = 32 << 20

// find returns a file of a layer, and closes the layer with it, or on an error.
func find(blob io.ReadCloser, name string) (io.ReadCloser, error) {
	unpacked, err := zstd.NewReader(blob, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("unpack layer: %w", err), blob.Close())
	}

	archive := tar.NewReader(unpacked)
	out := entry{archive, unpacked, blob}

	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil, errors.Join(fs.ErrNotExist, out.Close())
		}

		if err != nil {
			return nil, errors.Join(fmt.Errorf("%w: unpack layer: %w", ErrIncomplete, err), out.Close())
		}

		if h.Typeflag == tar.TypeReg && h.Name == name {
			return out, nil
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-59268b81/talos/install"
)

// Blobs has the parts of images by their digests, such as sha256:0123….
type Blobs interface {
	// Blob opens a blob, and returns its size. The error is fs.ErrNotExist if there is none.
	Blob(digest string) (io.ReadCloser, int64, error)
}

// Image is a release that was opened: its manifest is valid, and all its parts are there.
type Image struct {
	Manifest
	blobs Blobs
	files Descriptor
}

// Descriptor names a blob, as OCI does. Platform is that of an image in an index.
type Descriptor struct {
	MediaType string    `json:"mediaType"`
	Digest    string    `json:"digest"`
	Size      int64     `json:"size"`
	Platform  *Platform `json:"platform,omitempty"`
}

// Platform is what an image is for.
type Platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// Manifests and indexes of OCI; only the fields that are needed.
type (
	index struct {
		Manifests []Descriptor `json:"manifests"`
	}
	imageManifest struct {
		Layers    []Descriptor `json:"layers"`
		Manifests []Descriptor `json:"manifests"`
	}
)

const (
	zstdLayer = "application/vnd.oci.image.layer.v1.tar+zstd"
	// maxJSON limits the bytes of an index or manifest.
	maxJSON = 1 << 20
)

// Open opens the release in a layout. It reads everything except the files.
func Open(layout Layout) (*Image, error) {
	d, err := layout.only()
	if err == nil {
		var image *Image
		if image, err = read(layout, d, ""); err == nil {
			return image, nil
		}
	}

	return nil, fmt.Errorf("open release %s: %w", layout, err)
}

// Read opens the release that a descriptor names: an image, or an index with an image for the architecture. name is for errors. It reads
// everything except the files.
func Read(blobs Blobs, name string, d Descriptor, arch string) (*Image, error) {
	image, err := read(blobs, d, arch)
	if err != nil {
		return nil, fmt.Errorf("open release %s: %w", name, err)
	}

	return image, nil
}

func read(blobs Blobs, d Descriptor, arch string) (*Image, error) {
	m, err := imageOf(blobs, d)
	if err != nil {
		return nil, err
	}

	if len(m.Manifests) > 0 {
		if d, err = choose(m.Manifests, arch); err != nil {
			return nil, err
		}

		if m, err = imageOf(blobs, d); err != nil {
			return nil, err
		}
	}

	if len(m.Layers) != 2 || m.Layers[0].MediaType != zstdLayer || m.Layers[1].MediaType != zstdLayer {
		return nil, fmt.Errorf("%w: it has %d layers, want two that are compressed with zstd", ErrNotOurs, len(m.Layers))
	}

	image := &Image{blobs: blobs, files: m.Layers[1]}

	if image.Manifest, err = manifest(blobs, m.Layers[0]); err != nil {
		return nil, err
	}

	return image, there(blobs, image.files)
}

func imageOf(blobs Blobs, d Descriptor) (m imageManifest, err error) {
	b, err := small(blobs, d, maxJSON)
	if err != nil {
		return m, err
	}

	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("%w: manifest of the image: %w", ErrNotOurs, err)
	}

	return m, nil
}

// choose returns the image of an index for an architecture.
func choose(all []Descriptor, arch string) (Descriptor, error) {
	var others []string

	for _, d := range all {
		switch {
		case d.Platform == nil:
		case d.Platform.Architecture == arch && d.Platform.OS == "linux":
			return d, nil
		default:
			others = append(others, d.Platform.OS+"/"+d.Platform.Architecture)
		}
	}

	return Descriptor{}, fmt.Errorf("%w: it has none for linux/%s, only for %s", ErrArch, arch, strings.Join(others, ", "))
}

// manifest reads the layer with the manifest.
func manifest(blobs Blobs, layer Descriptor) (Manifest, error) {
	if layer.Size > maxManifest {
		return Manifest{}, fmt.Errorf("%w: its first layer has no %s only", ErrNotOurs, manifestName)
	}

	b, err := small(blobs, layer, maxManifest)
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

// open opens a blob. It is an error if it is missing or has another size.
func open(blobs Blobs, d Descriptor) (io.ReadCloser, error) {
	if !digest.MatchString(d.Digest) {
		return nil, fmt.Errorf("%w: digest %q is not SHA-256", ErrNotOurs, d.Digest)
	}

	r, size, err := blobs.Blob(d.Digest)

	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s is missing: fetch the image again", ErrIncomplete, d.Digest)
	case err != nil:
		return nil, err
	case size != d.Size:
		return nil, errors.Join(fmt.Errorf("%w: %s has %d bytes, want %d: fetch the image again", ErrIncomplete, d.Digest, size, d.Size), r.Close())
	default:
		return r, nil
	}
}

// there returns an error if a blob is missing or has another size.
func there(blobs Blobs, d Descriptor) error {
	r, err := open(blobs, d)
	if err != nil {
		return err
	}

	return r.Close()
}

// small reads a small blob and checks its digest.
func small(blobs Blobs, d Descriptor, limit int64) ([]byte, error) {
	r, err := open(blobs, d)
	if err != nil {
		return nil, err
	}
	defer r.Close()

	b, err := limited(r, d.Digest, limit)
	if err != nil {
		return nil, err
	}

	if sum := sha256.Sum256(b); "sha256:"+hex.EncodeToString(sum[:]) != d.Digest {
		return nil, fmt.Errorf("%w: %s has another digest: fetch the image again", ErrIncomplete, d.Digest)
	}

	return b, nil
}

// limited reads all, which must not have more bytes than the limit.
func limited(r io.Reader, name string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s: has more than %d bytes", name, limit)
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
		blob, err := open(i.blobs, i.files)
		if err != nil {
			return nil, fmt.Errorf("release %s: %w", i.Version, err)
		}

		content, err := f.open(blob)
		if err != nil {
			return nil, fmt.Errorf("release %s: %w", i.Version, err)
		}

		return content, nil
	}}, nil
}

// open opens the file in its layer, which is closed with it, or on an error.
func (f File) open(layer io.ReadCloser) (io.ReadCloser, error) {
	name := cmp.Or(f.Of, f.Name)

	whole, err := find(layer, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: its second layer has no %s", ErrIncomplete, name)
	}

	if err != nil || f.Of == "" {
		return whole, err
	}

	if _, err := io.CopyN(io.Discard, whole, f.Offset); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s of its second layer: %w", ErrIncomplete, name, err), whole.Close())
	}

	return part{io.LimitReader(whole, f.Size), whole}, nil
}

// part is a part of a file.
type part struct {
	io.Reader
	io.Closer
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

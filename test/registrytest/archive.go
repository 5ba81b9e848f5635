// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Archive is an OCI archive that is being made.
type Archive struct {
	tb        testing.TB
	text      bytes.Buffer
	files     *tar.Writer
	manifests []map[string]any
	written   map[string]bool
}

// NewArchive returns an archive without images.
func NewArchive(tb testing.TB) *Archive {
	a := &Archive{tb: tb, written: map[string]bool{}}
	a.files = tar.NewWriter(&a.text)
	a.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))

	return a
}

func (a *Archive) file(name string, content []byte) {
	a.tb.Helper()

	if a.written[name] {
		return
	}

	a.written[name] = true

	err := a.files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))})
	if err == nil {
		_, err = a.files.Write(content)
	}

	if err != nil {
		a.tb.Fatal(err)
	}
}

// Add adds an image with a name: its manifest or index, and the blobs that are not in the archive yet.
func (a *Archive) Add(name string, manifest []byte, blobs ...[]byte) *Archive {
	a.tb.Helper()

	for _, blob := range append(blobs, manifest) {
		a.file("blobs/sha256/"+hashOf(blob).Hex, blob)
	}

	var kind struct {
		MediaType string `json:"mediaType"`
	}

	if err := json.Unmarshal(manifest, &kind); err != nil {
		a.tb.Fatal(err)
	}

	a.manifests = append(a.manifests, map[string]any{
		"mediaType": kind.MediaType, "digest": hashOf(manifest).String(), "size": len(manifest),
		"annotations": map[string]string{"io.containerd.image.name": name},
	})

	return a
}

// Image adds an image with a name.
func (a *Archive) Image(name string, image v1.Image) *Archive {
	a.tb.Helper()

	layers, err := image.Layers()
	if err != nil {
		a.tb.Fatal(err)
	}

	var blobs [][]byte

	for _, layer := range layers {
		content, err := layer.Compressed()
		if err != nil {
			a.tb.Fatal(err)
		}

		blob, err := io.ReadAll(content)
		content.Close()

		if err != nil {
			a.tb.Fatal(err)
		}

		blobs = append(blobs, blob)
	}

	config, err := image.RawConfigFile()
	if err != nil {
		a.tb.Fatal(err)
	}

	manifest, err := image.RawManifest()
	if err != nil {
		a.tb.Fatal(err)
	}

	return a.Add(name, manifest, append(blobs, config)...)
}

// Reader returns the whole archive.
func (a *Archive) Reader() io.Reader {
	a.tb.Helper()

	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": a.manifests})
	if err != nil {
		a.tb.Fatal(err)
	}

	a.file("index.json", index)

	if err := a.files.Close(); err != nil {
		a.tb.Fatal(err)
	}

	return &a.text
}

// SPDX-License-Identifier: Apache-2.0

package registrytest

import (
	"archive/tar"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Random returns a small image with random files.
func Random(tb testing.TB) v1.Image {
	tb.Helper()

	image, err := random.Image(2048, 2)
	if err != nil {
		tb.Fatal(err)
	}

	// containerd unpacks images of its own platform only.
	return forPlatform(tb, image)
}

// Layout returns the first image of an OCI image layout in a folder.
func Layout(tb testing.TB, dir string) v1.Image {
	tb.Helper()

	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		tb.Fatal(err)
	}

	all, err := index.IndexManifest()
	if err != nil {
		tb.Fatal(err)
	}

	if len(all.Manifests) == 0 {
		tb.Fatalf("%s has no image", dir)
	}

	image, err := index.Image(all.Manifests[0].Digest)
	if err != nil {
		tb.Fatal(err)
	}

	return image
}

// Programs returns an image that has only static programs, in its root folder and with the names of their files.
func Programs(tb testing.TB, paths ...string) v1.Image {
	tb.Helper()

	var text bytes.Buffer

	archive := tar.NewWriter(&text)

	for _, path := range paths {
		program, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}

		header := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.Base(path), Mode: 0o755, Size: int64(len(program))}
		if err := archive.WriteHeader(header); err != nil {
			tb.Fatal(err)
		}

		if _, err := archive.Write(program); err != nil {
			tb.Fatal(err)
		}
	}

	if err := archive.Close(); err != nil {
		tb.Fatal(err)
	}

	base := forPlatform(tb, mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON))

	image, err := mutate.AppendLayers(base, static.NewLayer(text.Bytes(), types.OCIUncompressedLayer))
	if err != nil {
		tb.Fatal(err)
	}

	return image
}

func forPlatform(tb testing.TB, image v1.Image) v1.Image {
	tb.Helper()

	config, err := image.ConfigFile()
	if err != nil {
		tb.Fatal(err)
	}

	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH

	if image, err = mutate.ConfigFile(image, config); err != nil {
		tb.Fatal(err)
	}

	return image
}

// Push uploads an image with the tag 1 to a repository.
func (r *Registry) Push(tb testing.TB, repository string, image v1.Image) {
	tb.Helper()

	p := pusher{tb, r.content, "/v2/" + repository + "/"}

	layers, err := image.Layers()
	if err != nil {
		tb.Fatal(err)
	}

	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			tb.Fatal(err)
		}

		content, err := layer.Compressed()
		if err != nil {
			tb.Fatal(err)
		}

		p.blob(digest, content)
		content.Close()
	}

	p.configAndManifest(image)
}

type pusher struct {
	testing.TB

	to         http.Handler
	repository string // its path
}

func (p pusher) configAndManifest(image v1.Image) {
	p.Helper()

	name, err := image.ConfigName()
	if err != nil {
		p.Fatal(err)
	}

	config, err := image.RawConfigFile()
	if err != nil {
		p.Fatal(err)
	}

	kind, err := image.MediaType()
	if err != nil {
		p.Fatal(err)
	}

	manifest, err := image.RawManifest()
	if err != nil {
		p.Fatal(err)
	}

	p.blob(name, bytes.NewReader(config))
	p.send(http.MethodPut, "manifests/1", string(kind), bytes.NewReader(manifest))
}

func (p pusher) blob(digest v1.Hash, content io.Reader) {
	p.Helper()
	p.send(http.MethodPost, "blobs/uploads/?digest="+digest.String(), "application/octet-stream", content)
}

func (p pusher) send(method, path, kind string, body io.Reader) {
	p.Helper()

	request := httptest.NewRequest(method, p.repository+path, body)
	request.Header.Set("Content-Type", kind)

	recorder := httptest.NewRecorder()
	p.to.ServeHTTP(recorder, request)

	if recorder.Code != http.StatusCreated {
		p.Fatalf("%s %s: %d %s", method, request.URL, recorder.Code, recorder.Body)
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package imagecache serves an OCI image layout as a read-only container registry, so that containerd pulls from the
// machine's own disk as from any registry. containerd names the original registry in the `ns` parameter of a request to a mirror. An image
// that is not in the layout is answered with 404, and containerd tries the next mirror, or the registry itself.
//
// Of the distribution specification 1.1 it implements what a pull needs: the API check, manifests by tag or digest, and blobs.
package imagecache

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
)

// Address is where the machine's cache listens.
const Address = "127.0.0.1:3172"

// refName is the annotation with an image's full reference in the layout's index.
const refName = "org.opencontainers.image.ref.name"

// maxManifest is the size limit of a manifest, in bytes.
const maxManifest = 4 << 20

// Server is an http.Handler for a layout. The layout may be replaced (by a new mount) at any time.
type Server struct{ layout fs.FS }

// New returns a server of the layout in a folder.
func New(dir string) *Server { return &Server{layout: os.DirFS(dir)} }

var (
	route      = regexp.MustCompile(`^/v2/(.+)/(manifests|blobs)/([^/]+)$`)
	digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")

	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		fail(w, http.StatusMethodNotAllowed, "UNSUPPORTED", "the image cache is read-only")

		return
	}

	if r.URL.Path == "/v2/" || r.URL.Path == "/v2" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")

		return
	}

	m := route.FindStringSubmatch(r.URL.Path)
	if m == nil {
		fail(w, http.StatusNotFound, "NAME_UNKNOWN", "no such path")

		return
	}

	name, kind, ref := m[1], m[2], m[3]

	if kind == "manifests" {
		s.manifest(w, r, Reference(r.URL.Query().Get("ns"), name, ref))

		return
	}

	s.blob(w, r, ref, "application/octet-stream", "BLOB_UNKNOWN")
}

// Reference joins the parts of a request to the reference of the image.
func Reference(registry, name, ref string) string {
	if registry != "" {
		name = registry + "/" + name
	}

	if digestForm.MatchString(ref) {
		return name + "@" + ref
	}

	return name + ":" + ref
}

func (s *Server) manifest(w http.ResponseWriter, r *http.Request, reference string) {
	if _, digest, ok := strings.Cut(reference, "@"); ok {
		s.blob(w, r, digest, "", "MANIFEST_UNKNOWN")

		return
	}

	d, err := s.find(reference)

	switch {
	case errors.Is(err, fs.ErrNotExist):
		fail(w, http.StatusNotFound, "MANIFEST_UNKNOWN", reference+" is not in the image cache")
	case err != nil:
		fail(w, http.StatusInternalServerError, "UNKNOWN", err.Error())
	default:
		s.blob(w, r, d.Digest, d.MediaType, "MANIFEST_UNKNOWN")
	}
}

// find looks a reference up in the index. The index is small and read each time, so there is no cache to invalidate.
func (s *Server) find(reference string) (descriptor, error) {
	var index struct {
		Manifests []descriptor `json:"manifests"`
	}

	raw, err := fs.ReadFile(s.layout, "index.json")
	if err != nil {
		return descriptor{}, err
	}

	if err := json.Unmarshal(raw, &index); err != nil {
		return descriptor{}, fmt.Errorf("image cache: index.json: %w", err)
	}

	for _, d := range index.Manifests {
		if d.Annotations[refName] == reference {
			return d, nil
		}
	}

	return descriptor{}, fmt.Errorf("%s: %w", reference, fs.ErrNotExist)
}

// blob sends a blob. Without a mediaType it is a manifest, which has its own.
func (s *Server) blob(w http.ResponseWriter, r *http.Request, digest, mediaType, code string) {
	if !digestForm.MatchString(digest) {
		fail(w, http.StatusBadRequest, "DIGEST_INVALID", fmt.Sprintf("%q is not a sha256 digest", digest))

		return
	}

	f, err := s.layout.Open(path.Join("blobs", "sha256", strings.TrimPrefix(digest, "sha256:")))
	if err != nil {
		fail(w, http.StatusNotFound, code, digest+" is not in the image cache")

		return
	}
	defer f.Close()

	content, ok := f.(io.ReadSeeker)
	st, err := f.Stat()

	if !ok || err != nil {
		fail(w, http.StatusInternalServerError, "UNKNOWN", fmt.Sprintf("read %s: %v", digest, err))

		return
	}

	if mediaType == "" {
		if mediaType, err = manifestType(content); err != nil {
			fail(w, http.StatusInternalServerError, "UNKNOWN", fmt.Sprintf("read manifest %s: %v", digest, err))

			return
		}
	}

	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Docker-Content-Digest", digest)
	w.Header().Set("Etag", `"`+digest+`"`)
	http.ServeContent(w, r, "", st.ModTime(), content)
}

func manifestType(content io.ReadSeeker) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(content, maxManifest))
	if err != nil {
		return "", err
	}

	var d descriptor
	if err := json.Unmarshal(raw, &d); err != nil {
		return "", err
	}

	if d.MediaType == "" {
		d.MediaType = "application/vnd.oci.image.manifest.v1+json"
	}

	_, err = content.Seek(0, io.SeekStart)

	return d.MediaType, err
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"errors": []map[string]string{{"code": code, "message": message}},
	})
}

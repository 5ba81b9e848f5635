// SPDX-License-Identifier: Apache-2.0

package imagecache_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
)

const manifestMediaType = "application/vnd.oci.image.manifest.v1+json"

func write(t *testing.T, path, content string) {
	t.Helper()

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// layout creates a folder with one image, and returns the digests of its manifest and its blob.
func layout(t *testing.T) (dir, manifest, blob string) {
	t.Helper()

	dir = t.TempDir()
	put := func(content string) string {
		sum := sha256.Sum256([]byte(content))
		digest := hex.EncodeToString(sum[:])
		write(t, filepath.Join(dir, "blobs/sha256", digest), content)

		return "sha256:" + digest
	}

	blob = put("layer")
	manifest = put(fmt.Sprintf(`{"mediaType":%q,"layers":[{"digest":%q}]}`, manifestMediaType, blob))
	write(t, filepath.Join(dir, "index.json"), fmt.Sprintf(
		`{"manifests":[{"mediaType":%q,"digest":%q,"annotations":{"org.opencontainers.image.ref.name":"registry.k8s.io/pause:3.10"}}]}`,
		manifestMediaType, manifest))

	return dir, manifest, blob
}

func TestServe(t *testing.T) {
	dir, manifest, blob := layout(t)
	srv := httptest.NewServer(imagecache.New(dir))
	t.Cleanup(srv.Close)

	for _, tt := range []struct {
		name, method, path string
		status             int
		mediaType, body    string
	}{
		{"api check", "GET", "/v2/", 200, "application/json", "{}"},
		{"by tag", "GET", "/v2/pause/manifests/3.10?ns=registry.k8s.io", 200, manifestMediaType, "layers"},
		{"head by tag", "HEAD", "/v2/pause/manifests/3.10?ns=registry.k8s.io", 200, manifestMediaType, ""},
		{"by digest", "GET", "/v2/pause/manifests/" + manifest + "?ns=registry.k8s.io", 200, manifestMediaType, "layers"},
		{"blob", "GET", "/v2/pause/blobs/" + blob + "?ns=registry.k8s.io", 200, "application/octet-stream", "layer"},
		{"another registry", "GET", "/v2/pause/manifests/3.10?ns=docker.io", 404, "application/json", "MANIFEST_UNKNOWN"},
		{"another tag", "GET", "/v2/pause/manifests/3.9?ns=registry.k8s.io", 404, "application/json", "MANIFEST_UNKNOWN"},
		{"missing blob", "GET", "/v2/pause/blobs/sha256:" + strings.Repeat("0", 64), 404, "application/json", "BLOB_UNKNOWN"},
		{"path outside of the layout", "GET", "/v2/pause/blobs/..%2f..%2findex.json", 404, "application/json", "NAME_UNKNOWN"},
		{"not a digest", "GET", "/v2/pause/blobs/index.json", 400, "application/json", "DIGEST_INVALID"},
		{"write", "PUT", "/v2/pause/manifests/3.10", 405, "application/json", "UNSUPPORTED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, srv.URL+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}

			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()

			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}

			if resp.StatusCode != tt.status || resp.Header.Get("Content-Type") != tt.mediaType || !strings.Contains(string(body), tt.body) {
				t.Errorf("got %d %s %q, want %d %s …%q…", resp.StatusCode, resp.Header.Get("Content-Type"), body, tt.status, tt.mediaType, tt.body)
			}
		})
	}
}

func FuzzReference(f *testing.F) {
	f.Add("registry.k8s.io", "pause", "3.10")
	f.Add("", "a/b", "sha256:"+strings.Repeat("a", 64))
	f.Fuzz(func(t *testing.T, registry, name, ref string) {
		if got := imagecache.Reference(registry, name, ref); !strings.HasSuffix(got, ref) {
			t.Errorf("got %q, want it to end in %q", got, ref)
		}
	})
}

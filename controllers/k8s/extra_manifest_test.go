// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// TestDownloadsOnce checks that a change of the network does not download a manifest again, and that a change of its headers does.
func TestDownloadsOnce(t *testing.T) {
	var asked atomic.Int32

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)

		_, _ = w.Write([]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"))
	}))
	defer server.Close()

	n := controllertest.Start(t, extraManifestController())
	extra := k8s.ExtraManifest{Name: "a", URL: server.URL, Priority: "99"}

	controllertest.Set(n, k8s.ExtraManifestsID, k8s.ExtraManifestsConfigSpec{ExtraManifests: []k8s.ExtraManifest{extra}})
	controllertest.Set(n, network.StatusID, network.StatusSpec{AddressReady: true})
	controllertest.Wait[k8s.ManifestSpec](n, "99-a", nil)

	for _, ready := range []bool{true, false, true} {
		controllertest.Set(n, network.StatusID, network.StatusSpec{AddressReady: true, HostnameReady: ready})
		time.Sleep(50 * time.Millisecond)
	}

	if got := asked.Load(); got != 1 {
		t.Errorf("the network changed: got %d downloads, want 1", got)
	}

	extra.ExtraHeaders = map[string]string{"Authorization": "x"}
	controllertest.Set(n, k8s.ExtraManifestsID, k8s.ExtraManifestsConfigSpec{ExtraManifests: []k8s.ExtraManifest{extra}})

	for deadline := time.Now().Add(10 * time.Second); asked.Load() != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("another header: got %d downloads, want 2", asked.Load())
		}
	}
}

// TestDownloadErrors checks that errors do not show the secrets in addresses.
func TestDownloadErrors(t *testing.T) {
	for _, address := range []string{"https://user:secret@127.0.0.1:1/", "https://127.0.0.1:1/?token=secret", "https://127.0.0.1:1/%secret"} {
		if _, err := download(t.Context(), address, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want an error without the secret", address, err)
		}
	}
}

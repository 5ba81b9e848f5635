// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kubeprism_test

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeprism"
)

// TestDrains ends an API server as a machine that leaves the control plane does: a request that it has begun is answered, although it accepts
// no connection any more and another server is ready.
func TestDrains(t *testing.T) {
	local, other := serveAPI(t, "local"), serveAPI(t, "other")

	begun := make(chan struct{})
	handler := local.Config.Handler
	local.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(begun)
			time.Sleep(1500 * time.Millisecond)
		}

		handler.ServeHTTP(w, r)
	})

	var prober kubeprism.Prober

	balancer := kubeprism.Balancer{Probe: prober.Readyz}
	balancer.SetUpstreams([]kubeprism.Upstream{{Address: local.address(), Local: true}, {Address: other.address()}})

	address := start(t, &balancer)
	t.Cleanup(prober.Close)
	within(t, 5*time.Second, "both are ready", func() bool { return balancer.Ready() == 2 && !refused(address) })

	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()

	go func() {
		<-begun

		_ = local.Config.Shutdown(t.Context()) // it waits for the request
	}()

	response, err := client.Get("https://" + address + "/slow")
	if err != nil {
		t.Fatalf("a request that had begun: %v", err)
	}
	defer response.Body.Close()

	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "local" {
		t.Errorf("got %q, %v, want the answer of the server that ends", text, err)
	}

	within(t, 5*time.Second, "the other one answers", func() bool {
		response, err := client.Get("https://" + address)
		if err != nil {
			return false
		}
		defer response.Body.Close()

		text, err := io.ReadAll(response.Body)

		return err == nil && string(text) == "other"
	})
}

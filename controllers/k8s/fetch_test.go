// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/etcd"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/service/container"
)

// registry has no images until it is up.
type registry struct {
	mu    sync.Mutex
	there bool
	asked map[string]bool
}

func (r *registry) fetch(_ context.Context, namespace, image string) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.asked[namespace+" "+image] = true

	if !r.there {
		return errors.New("the registry is away")
	}

	return nil
}

func (r *registry) wasAsked(what string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.asked[what]
}

// TestFetchesBeforeItReplaces checks that the kubelet, etcd and the API server are not replaced while their new images cannot be downloaded.
func TestFetchesBeforeItReplaces(t *testing.T) {
	r := &registry{asked: map[string]bool{}}
	c := controlPlaneFetching(t, generate.Options{Secrets: generateSecrets(t)}, r.fetch)

	waitService(t, c, "etcd", "waiting")

	wal := filepath.Join(c.root, etcd.DataDir, "member", "wal", "0.wal")
	if err := errors.Join(os.MkdirAll(filepath.Dir(wal), 0o755), os.WriteFile(wal, nil, 0o600)); err != nil {
		t.Fatal(err)
	}

	c.Configure(c.text(t, "cluster: {etcd: {extraArgs: {snapshot-count: '20000'}}}")) // so that etcd's data is looked for
	waitService(t, c, "etcd", "--snapshot-count=20000")
	c.Service("etcd", true)
	controllertest.Wait[k8sres.StaticPodSpec](c.Node, k8sres.APIServerID, nil)
	waitService(t, c, "kubelet", "")

	const next = "machine: {kubelet: {image: 'r.example/kubelet:v1.36.9'}}\n" +
		"cluster: {etcd: {image: 'r.example/etcd:v3.6.99', extraArgs: {snapshot-count: '20000'}}, apiServer: {image: 'r.example/kube-apiserver:v1.36.9'}}"

	images := func() map[string]string {
		out := map[string]string{}

		for _, id := range []string{"kubelet", "etcd"} {
			if svc, _, ok := c.supervisor.Service(id); ok {
				out[id] = svc.Fingerprint
			}
		}

		out["kube-apiserver"] = pods.Image(controllertest.Wait[k8sres.StaticPodSpec](c.Node, k8sres.APIServerID, nil).Pod)

		return out
	}

	until := func(what string, done func() bool) {
		t.Helper()

		for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("timed out: %s; asked for %v, running %v", what, r.asked, images())
			}
		}
	}

	before := images()
	c.Configure(c.text(t, next))

	for _, what := range []string{
		container.NamespaceSystem + " r.example/kubelet:v1.36.9", container.NamespaceSystem + " r.example/etcd:v3.6.99",
		container.NamespacePods + " r.example/kube-apiserver:v1.36.9",
	} {
		until("asks for "+what, func() bool { return r.wasAsked(what) })
	}

	time.Sleep(100 * time.Millisecond)

	for id, now := range images() {
		if now == "" || now != before[id] {
			t.Errorf("%s was replaced without its image: got %q, had %q", id, now, before[id])
		}
	}

	r.mu.Lock()
	r.there = true
	r.mu.Unlock()

	until("replaced when the registry is back", func() bool {
		now := images()

		return strings.HasPrefix(now["kube-apiserver"], "r.example/") && now["kubelet"] != "" && now["kubelet"] != before["kubelet"] &&
			strings.Contains(now["etcd"], "r.example/")
	})
}

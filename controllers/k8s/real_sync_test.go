// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/controllers/k8s/manifestsync"
	"github.com/seed-59268b81/talos/kube"
	secretsres "github.com/seed-59268b81/talos/resources/secrets"
)

const (
	kubeProxy = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy"
	coreDNS   = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
	inventory = "/api/v1/namespaces/kube-system/configmaps/talos-bootstrap-manifests-inventory"
	records   = "/api/v1/namespaces/kube-system/configmaps/talos-bootstrap-manifests-applied"
)

// followEdits checks that the objects of the manifests follow edits of the configuration, that changes of other clients stay, that objects
// which are not rendered any more are deleted, and that nothing is written when nothing differs.
func followEdits(t *testing.T, c *cluster, client *kube.Client) {
	t.Helper()

	ctx := context.Background()

	// Other clients change a field that no manifest sets, and one that a manifest sets.
	edit(t, client, coreDNS, func(o kube.Object) {
		o["spec"].(kube.Object)["replicas"] = 3
		o["metadata"].(kube.Object)["annotations"] = kube.Object{"example.org/mine": "yes"}
	})

	images := "cluster: {proxy: {image: example.org/proxy:v2}, coreDNS: {image: example.org/dns:v2}}"
	c.Configure(c.text(t, images))

	eventually(t, "kube-proxy follows the configuration", func() error { return image(ctx, client, kubeProxy, "example.org/proxy:v2") })
	eventually(t, "DNS follows the configuration", func() error { return image(ctx, client, coreDNS, "example.org/dns:v2") })

	dns := get(t, client, coreDNS)
	if got := dns["spec"].(kube.Object)["replicas"]; got != 3.0 {
		t.Errorf("replicas of DNS, which another client has changed: got %v, want 3", got)
	}

	if got := metadata(dns)["annotations"].(kube.Object)["example.org/mine"]; got != "yes" {
		t.Errorf("another client's annotation: got %v, want it kept", got)
	}

	// The same configuration again writes nothing.
	paths := []string{kubeProxy, coreDNS}
	before := versions(t, client, paths)

	c.Service("etcd", false)
	c.Service("etcd", true)
	c.Configure(c.text(t, images, "cluster: {inlineManifests: [{name: mine, contents: "+
		`"{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: default}, data: {a: b}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: mine}}"}]}`))

	const mine, namespace = "/api/v1/namespaces/default/configmaps/mine", "/api/v1/namespaces/mine"

	eventually(t, "an inline manifest is applied", func() error { _, err := client.Get(ctx, mine); return err })
	eventually(t, "the inventory names it", func() error {
		data, _ := get(t, client, records)["data"].(kube.Object)
		if text, _ := data["cp1"].(string); !strings.Contains(text, `"v1/ConfigMap/default/mine"`) {
			return fmt.Errorf("got %s", text)
		}

		return nil
	})

	for i, now := range versions(t, client, paths) {
		if now != before[i] {
			t.Errorf("%s was written: version %s, then %s", paths[i], before[i], now)
		}
	}

	quiet(t, c, client)

	c.Configure(c.text(t, images, "cluster: {proxy: {disabled: true}}"))
	eventually(t, "an object that is not rendered any more is deleted", func() error { return gone(ctx, client, mine) })
	eventually(t, "kube-proxy is deleted", func() error { return gone(ctx, client, kubeProxy) })
	eventually(t, "the inventory does not name it any more", func() error {
		data := get(t, client, inventory)["data"].(kube.Object)
		if _, there := data["kube-system_kube-proxy_apps_DaemonSet"]; there {
			return fmt.Errorf("got %v", data)
		}

		return nil
	})

	if _, err := client.Get(ctx, namespace); err != nil {
		t.Errorf("the namespace: got %v, want it kept", err)
	}

	c.Configure(c.text(t, images))
	eventually(t, "kube-proxy exists again", func() error { return image(ctx, client, kubeProxy, "example.org/proxy:v2") })

	twoNodes(t, c, client)
}

// manifestsLock is held in etcd while a control plane synchronizes manifests.
const manifestsLock = "talos:v1:manifestApplyMutex"

func (c *cluster) etcdClient(t *testing.T) *clientv3.Client {
	t.Helper()

	root := controllertest.Wait[secretsres.EtcdRootSpec](c.Node, secretsres.EtcdRootID, nil)
	certs := controllertest.Wait[secretsres.EtcdCertsSpec](c.Node, secretsres.EtcdID, nil)

	client, err := etcdclient.New(t.Context(), root, certs, contract.EtcdURL)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { client.Close() })

	return client
}

// quiet checks that another synchronization writes nothing.
func quiet(t *testing.T, c *cluster, client *kube.Client) {
	t.Helper()

	written := []string{kubeProxy, coreDNS, inventory, records}
	before := versions(t, client, written)

	// The manifests are synchronized when etcd is healthy again; the lock shows when that begins and ends.
	etcd := c.etcdClient(t)

	ctx, cancel := context.WithTimeout(t.Context(), realPatience)
	defer cancel()

	changes := etcd.Watch(clientv3.WithRequireLeader(ctx), manifestsLock, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-changes

	c.Service("etcd", false)
	c.Service("etcd", true)

	for released := false; !released; {
		change, ok := <-changes
		if !ok {
			t.Fatal("the manifests were not synchronized again")
		}

		for _, event := range change.Events {
			released = released || event.Type == clientv3.EventTypeDelete
		}
	}

	for i, now := range versions(t, client, written) {
		if now != before[i] {
			t.Errorf("nothing differs, and %s was written: version %s, then %s", written[i], before[i], now)
		}
	}
}

// twoNodes checks that control planes which are configured one after another do not revert each other's changes, and that an object is deleted
// only when no node renders it any more.
func twoNodes(t *testing.T, c *cluster, client *kube.Client) {
	t.Helper()

	// The cluster's own control plane synchronizes its manifests too, and waits for the lock.
	session, err := concurrency.NewSession(c.etcdClient(t))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()

	lock := concurrency.NewMutex(session, manifestsLock)
	if err := lock.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}

	const path = "/api/v1/namespaces/default/configmaps/shared"

	ctx := context.Background()

	sync := func(node, value string, complete bool) {
		t.Helper()

		manifest := manifests.Manifest{Name: "x"}
		if value != "" {
			manifest.Objects = []kube.Object{{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": kube.Object{"name": "shared", "namespace": "default"},
				"data": kube.Object{"a": value},
			}}
		}

		cluster := manifestsync.Cluster{Client: client, Node: node, Key: []byte(node), Log: slog.New(slog.DiscardHandler)}
		if _, err := cluster.Sync(ctx, []manifests.Manifest{manifest}, complete); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when, value string) {
		t.Helper()

		object, err := client.Get(ctx, path)
		if value == "" {
			if !kube.IsNotFound(err) {
				t.Errorf("%s: got %v, %v, want it deleted", when, object["data"], err)
			}

			return
		}

		if err != nil || object["data"].(kube.Object)["a"] != value {
			t.Errorf("%s: got %v, %v, want %s", when, object["data"], err, value)
		}
	}

	for _, node := range []string{"cp8", "cp9"} {
		if _, err := client.Create(ctx, "/api/v1/nodes", kube.Object{
			"apiVersion": "v1", "kind": "Node", "metadata": kube.Object{"name": node},
		}); err != nil {
			t.Fatal(err)
		}
	}

	sync("cp8", "old", true)
	sync("cp9", "old", true)
	sync("cp8", "new", true)
	want("one has the new configuration", "new")
	sync("cp9", "old", true)
	want("the other still has the old one", "new")
	sync("cp9", "new", true)
	want("both have it", "new")

	sync("cp8", "", true)
	want("one does not render it", "new")
	sync("cp9", "", false)
	want("the other still renders it", "new")
	sync("cp9", "", true)
	want("no node renders it", "")

	sync("cp9", "again", true)
	sync("cp8", "again", true)

	if err := client.Delete(ctx, "/api/v1/nodes/cp9", metadata(get(t, client, "/api/v1/nodes/cp9"))["uid"].(string)); err != nil {
		t.Fatal(err)
	}

	sync("cp8", "", true)
	want("the other has left the cluster", "")

	// The system does not delete an object of another client, although a manifest with the same name was rendered.
	if _, err := client.Create(ctx, "/api/v1/namespaces/default/configmaps", kube.Object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": kube.Object{"name": "shared"}, "data": kube.Object{"a": "theirs"},
	}); err != nil {
		t.Fatal(err)
	}

	sync("cp8", "ours", true)
	want("it existed before", "theirs")
	sync("cp8", "", true)
	want("the manifest is removed", "theirs")
}

func get(t *testing.T, client *kube.Client, path string) kube.Object {
	t.Helper()

	object, err := client.Get(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}

	return object
}

func metadata(object kube.Object) kube.Object { return object["metadata"].(kube.Object) }

// edit changes an object as kubectl edit does.
func edit(t *testing.T, client *kube.Client, path string, change func(kube.Object)) {
	t.Helper()

	eventually(t, "another client edits "+path, func() error {
		object, err := client.Get(t.Context(), path)
		if err != nil {
			return err
		}

		change(object)

		_, err = client.Replace(t.Context(), path+"?fieldManager=kubectl-edit", object)

		return err
	})
}

func image(ctx context.Context, client *kube.Client, path, want string) error {
	object, err := client.Get(ctx, path)
	if err != nil {
		return err
	}

	template := object["spec"].(kube.Object)["template"].(kube.Object)["spec"].(kube.Object)
	if got := template["containers"].([]any)[0].(kube.Object)["image"]; got != want {
		return fmt.Errorf("image: got %v, want %s", got, want)
	}

	return nil
}

func gone(ctx context.Context, client *kube.Client, path string) error {
	_, err := client.Get(ctx, path)
	if kube.IsNotFound(err) {
		return nil
	}

	return fmt.Errorf("it is there: %w", err)
}

// versions returns the generations of objects whose status controllers write, and otherwise the resource versions.
func versions(t *testing.T, client *kube.Client, paths []string) []string {
	t.Helper()

	out := make([]string, 0, len(paths))

	for _, path := range paths {
		m := metadata(get(t, client, path))
		if generation := m["generation"]; generation != nil {
			out = append(out, fmt.Sprint(generation))
		} else {
			out = append(out, m["resourceVersion"].(string))
		}
	}

	return out
}

// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/lab"
)

// configMaps is the path of the objects that are written.
const configMaps = "/api/v1/namespaces/default/configmaps"

// server is the API server of a control plane, through the port of this computer that leads to it.
type server struct {
	name string
	*kube.Client
}

// write writes new keys, each to any server, until ctx is done, and reads them, and earlier ones, from any server.
func (w *world) write(ctx context.Context, number int) {
	r := rand.New(rand.NewPCG(w.seed, uint64(1000+number)))

	var mine []string

	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("chaos-%d-%d", number, n)
		short, done := context.WithTimeout(ctx, 10*time.Second)
		_, err := w.any(r).Create(short, configMaps, kube.Object{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": kube.Object{"name": key, "labels": kube.Object{"chaos": strconv.FormatUint(w.seed, 10)}},
		})

		done()
		w.history.Wrote(key, err, time.Now())

		if err == nil {
			mine = append(mine, key)
			w.read(ctx, key, w.any(r))
		}

		if len(mine) > 0 {
			w.read(ctx, mine[r.IntN(len(mine))], w.any(r))
		}

		pause(ctx, 300*time.Millisecond)
	}
}

// any returns any API server of the cluster.
func (w *world) any(r *rand.Rand) server {
	all := w.servers()

	return all[r.IntN(len(all))]
}

// read reads a key. Without a resource version the answer is as new as etcd's.
func (w *world) read(ctx context.Context, key string, from server) {
	ctx, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()

	if found, err := from.Find(ctx, configMaps+"/"+key, nil); err == nil {
		w.history.Read(key, from.name, found)
	}
}

// watch records the identity of the cluster at each server, and the members of etcd, until ctx is done.
func (w *world) watch(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, 2*time.Second) {
		for _, s := range w.servers() {
			short, done := context.WithTimeout(ctx, 3*time.Second)
			if object, err := s.Get(short, "/api/v1/namespaces/kube-system"); err == nil {
				w.history.Cluster(s.name, kube.At[string](object, "metadata", "uid"))
			}

			done()
		}

		for _, n := range w.controlPlanes() {
			short, done := context.WithTimeout(ctx, 3*time.Second)
			err := w.observe(short, n, w.history.Members)

			done()

			if err == nil {
				break // each has the same list, once it has answered
			}
		}
	}
}

// observe records the members of etcd that a machine names.
func (w *world) observe(ctx context.Context, n *lab.Node, record func(map[string]string)) error {
	w.order.Lock()
	defer w.order.Unlock()

	members, err := w.members(ctx, n)
	if err == nil {
		record(members)
	}

	return err
}

// members returns the members of etcd, as the leader knows them, with the names of their machines.
func (w *world) members(ctx context.Context, n *lab.Node) (map[string]string, error) {
	out := map[string]string{}

	return out, w.with(ctx, n, func(api *client.Client) error {
		members, err := api.EtcdMembers(ctx, false)

		for _, m := range members {
			out[client.FormatEtcdID(m.GetId())] = m.GetHostname()
		}

		return err
	})
}

// settle records the members of a cluster that is whole, and waits until a client can write to it.
func (w *world) settle() {
	w.t.Helper()

	ctx, done := context.WithTimeout(w.t.Context(), time.Minute)
	defer done()

	start := time.Now()

	if err := w.observe(ctx, w.controlPlanes()[0], w.history.Whole); err != nil {
		w.t.Fatalf("members of the cluster that is whole: %v", err)
	}

	for !w.history.LastWrite().After(start) {
		if ctx.Err() != nil {
			w.t.Fatalf("the cluster is whole, and no client could write within a minute: %s", w.history.Summary())
		}

		pause(ctx, 100*time.Millisecond)
	}
}

// with calls the API of a machine as the administrator, over a connection of its own.
func (w *world) with(ctx context.Context, n *lab.Node, call func(*client.Client) error) error {
	api, err := client.New([]string{n.APIEndpoint()}, client.WithCertificates(w.access.CA, w.access.Crt, w.access.Key))
	if err != nil {
		return err
	}
	defer api.Close()

	if err := ctx.Err(); err != nil {
		return err
	}

	return call(api)
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

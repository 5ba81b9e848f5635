// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/controllers/clusterstate"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/controllers/k8s/manifestsync"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

const (
	// applyTimeout of all manifests, including the wait for the lock.
	applyTimeout = 5 * time.Minute
	// applyRetry is short, since the first Node of a cluster becomes Ready only after this.
	applyRetry = time.Second
	// lockPatience is how long one attempt waits for the lock, which another control plane may hold for applyTimeout.
	lockPatience = 30 * time.Second
)

// manifestApplyController updates the objects of the cluster from the manifests.
func manifestApplyController() controller.Controller {
	var (
		access   secrets.KubernetesCertsSpec
		etcdRoot secrets.EtcdRootSpec
		certs    secrets.EtcdCertsSpec
		node     k8s.NodenameSpec
		api      localAPI
	)

	outputs := []controller.Output{controller.Out[k8s.ManifestStatusSpec](controller.Exclusive)}

	return frominputs.Reconciler("k8s.ManifestApplyController", outputs, nil, frominputs.List{
		frominputs.Of(secrets.KubernetesID, &access),
		frominputs.Of(secrets.EtcdRootID, &etcdRoot),
		frominputs.Of(secrets.EtcdID, &certs),
		frominputs.Of(k8s.NodenameID, &node),
		healthy(etcdService),
		frominputs.Also(controller.In[k8s.ManifestSpec](controller.Weak, "")),
		frominputs.Also(controller.In[k8s.BootstrapManifestsConfigSpec](controller.Weak, "", k8s.BootstrapManifestsID)),
		frominputs.Also(controller.In[k8s.ExtraManifestsConfigSpec](controller.Weak, "", k8s.ExtraManifestsID)),
	}, func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
		wanted, complete, err := wantedManifests(ctx, rt)
		if err != nil || len(wanted) == 0 {
			return err
		}

		ctx, cancel := context.WithTimeout(ctx, applyTimeout)
		defer cancel()

		client, err := api.get(access.LocalhostAdminKubeconfig)
		if err != nil {
			return err
		}

		// The API server of a new cluster first creates its own roles and namespaces.
		if err := client.Ready(ctx); err != nil {
			log.DebugContext(ctx, "the bootstrap manifests wait for the API server", "error", err)

			return waiting(ctx, rt, "the API server of this machine")
		}

		var applied []string

		err = underLock(ctx, etcdRoot, certs, node.Nodename, func(ctx context.Context) error {
			var err error

			cluster := manifestsync.Cluster{Client: client, Node: node.Nodename, Key: etcdRoot.EtcdCA.Key, Log: log}
			if applied, err = cluster.Sync(ctx, wanted, complete); err != nil {
				return fmt.Errorf("bootstrap manifests: %w", err)
			}

			return nil
		})

		if locked, ok := errors.AsType[*etcd.LockedError](err); ok {
			return waiting(ctx, rt, fmt.Sprintf("the lock of the manifests, which %s holds", cmp.Or(locked.Holder, "another control plane")))
		}

		if err != nil {
			err = errors.Join(err, waitsFor(ctx, rt, ""))
		}

		if len(applied) > 0 {
			if err := typed.Set(ctx, rt, "", k8s.ManifestStatusID, k8s.ManifestStatusSpec{ManifestsApplied: applied}); err != nil {
				return err
			}
		}

		return err
	})
}

// waiting says what is waited for, and has the controller run again.
func waiting(ctx context.Context, rt controller.Runtime, what string) error {
	if err := waitsFor(ctx, rt, what); err != nil {
		return err
	}

	return controller.Requeue(applyRetry)
}

func waitsFor(ctx context.Context, rt controller.Runtime, what string) error {
	return typed.Modify(ctx, rt, "", k8s.ManifestStatusID, func(s *k8s.ManifestStatusSpec) error {
		s.WaitsFor = what

		return nil
	})
}

// wantedManifests also reports whether these are all manifests of the configuration: one may not be downloaded yet.
func wantedManifests(ctx context.Context, rt controller.Runtime) (wanted []manifests.Manifest, complete bool, err error) {
	items, err := typed.List[k8s.ManifestSpec](ctx, rt, "")
	if err != nil {
		return nil, false, err
	}

	there := map[string]bool{}

	for _, item := range items { // sorted by id, which is the order of application
		if item.Metadata().Phase() != resource.PhaseRunning {
			continue
		}

		manifest := manifests.Manifest{Name: item.Metadata().ID()}
		for _, single := range item.TypedSpec().Items {
			manifest.Objects = append(manifest.Objects, single.Object)
		}

		wanted = append(wanted, manifest)
		there[manifest.Name] = true
	}

	var (
		builtin k8s.BootstrapManifestsConfigSpec
		extra   k8s.ExtraManifestsConfigSpec
	)

	complete, err = typed.All(typed.Read(ctx, rt, k8s.BootstrapManifestsID, &builtin), typed.Read(ctx, rt, k8s.ExtraManifestsID, &extra))

	for _, name := range manifests.Names(builtin, extra) {
		complete = complete && there[name]
	}

	return wanted, complete, err
}

// underLock runs fn while this node holds the cluster's lock.
func underLock(ctx context.Context, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, node string, fn func(context.Context) error) error {
	client, err := etcdclient.New(ctx, root, certs, contract.EtcdURL)
	if err != nil {
		return err
	}
	defer client.Close()

	held, err := clusterstate.ClaimWithin(ctx, client, clusterstate.Manifests, node, lockPatience)
	if err != nil {
		return fmt.Errorf("bootstrap manifests: %w", err)
	}
	defer held.Release(ctx)

	// Without the lock another node may apply them.
	ctx, cancel := held.Context(ctx)
	defer cancel()

	return fn(ctx)
}

// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/k8s/kubeapi"
	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

const (
	// manifestsLock keeps control planes from applying at once.
	manifestsLock    = "talos:v1:manifestApplyMutex"
	manifestsLockTTL = 15 // seconds
	// applyTimeout of all manifests, waiting for the lock included.
	applyTimeout = 5 * time.Minute
	// A namespace that is not there yet is waited for this often, and this long each time.
	namespaceAttempts = 10
	namespaceWait     = 500 * time.Millisecond
	// applyRetry is short: on the way to a first Ready node nothing else is waited for.
	applyRetry = time.Second
)

// manifestApplyController creates what the cluster lacks of the manifests. What exists is never changed: from then on it
// belongs to the people who run the cluster.
func manifestApplyController() controller.Controller {
	var (
		retry *time.Timer
		api   localAPI
	)

	return &controller.Reconciler{
		ControllerName: "k8s.ManifestApplyController",
		Reads: []controller.Input{
			controller.In[k8s.ManifestSpec](controller.Weak, ""),
			controller.In[secrets.KubernetesCertsSpec](controller.Weak, "", secrets.KubernetesID),
			controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
			controller.In[secrets.EtcdCertsSpec](controller.Weak, "", secrets.EtcdID),
			serviceInput(etcdService),
		},
		Writes: []controller.Output{controller.Out[k8s.ManifestStatusSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			var (
				access   secrets.KubernetesCertsSpec
				etcdRoot secrets.EtcdRootSpec
				etcd     secrets.EtcdCertsSpec
			)

			if retry != nil {
				retry.Stop()
			}

			ok, err := all(
				read(ctx, rt, secrets.KubernetesID, &access), read(ctx, rt, secrets.EtcdRootID, &etcdRoot), read(ctx, rt, secrets.EtcdID, &etcd),
			)
			if err != nil || !ok {
				return err
			}

			if up, err := serviceHealthy(ctx, rt, etcdService); err != nil || !up {
				return err
			}

			wanted, err := wantedManifests(ctx, rt)
			if err != nil || len(wanted) == 0 {
				return err
			}

			ctx, cancel := context.WithTimeout(ctx, applyTimeout)
			defer cancel()

			client, err := api.get(access.LocalhostAdminKubeconfig)
			if err != nil {
				return err
			}

			// An API server that starts in a new cluster has roles and namespaces of its own to make first.
			if err := client.Ready(ctx); err != nil {
				log.DebugContext(ctx, "the bootstrap manifests wait for the API server", "error", err)

				retry = time.AfterFunc(applyRetry, rt.QueueReconcile)

				return nil
			}

			var applied []string

			err = underLock(ctx, etcdRoot, etcd, func(ctx context.Context) error {
				var err error

				applied, err = applyManifests(ctx, client, wanted, log)

				return err
			})

			if len(applied) > 0 {
				if err := typed.Set(ctx, rt, "", k8s.ManifestStatusID, k8s.ManifestStatusSpec{ManifestsApplied: applied}); err != nil {
					return err
				}
			}

			return err
		},
	}
}

func wantedManifests(ctx context.Context, rt controller.Runtime) ([]manifests.Manifest, error) {
	items, err := typed.List[k8s.ManifestSpec](ctx, rt, "")
	if err != nil {
		return nil, err
	}

	out := make([]manifests.Manifest, 0, len(items))

	for _, item := range items { // sorted by id, which is the order of application
		if item.Metadata().Phase() != resource.PhaseRunning {
			continue
		}

		manifest := manifests.Manifest{Name: item.Metadata().ID()}
		for _, single := range item.TypedSpec().Items {
			manifest.Objects = append(manifest.Objects, single.Object)
		}

		out = append(out, manifest)
	}

	return out, nil
}

// underLock runs fn while this node holds the cluster's lock.
func underLock(ctx context.Context, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, fn func(context.Context) error) error {
	client, err := etcdclient.New(ctx, root, certs, etcdclient.Local)
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck

	session, err := concurrency.NewSession(client, concurrency.WithTTL(manifestsLockTTL))
	if err != nil {
		return fmt.Errorf("bootstrap manifests: open a session with etcd: %w", err)
	}
	defer session.Close() //nolint:errcheck

	mutex := concurrency.NewMutex(session, manifestsLock)
	if err := mutex.Lock(ctx); err != nil {
		return fmt.Errorf("bootstrap manifests: take the lock %s in etcd: %w", manifestsLock, err)
	}

	defer mutex.Unlock(context.WithoutCancel(ctx)) //nolint:errcheck // the session's end releases it too

	// Without the session the lock is somebody else's.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	guard.Go(func() error {
		defer cancel()

		select {
		case <-session.Done():
		case <-ctx.Done():
		}

		return nil
	})

	return fn(ctx)
}

// applyManifests creates what is missing and returns the names of the manifests that are there whole. One object that
// fails does not keep the others back.
func applyManifests(ctx context.Context, client *kubeapi.Client, all []manifests.Manifest, log *slog.Logger) ([]string, error) {
	var (
		errs    []error
		failed  = map[string]bool{}
		created []string
	)

	for _, object := range manifests.Ordered(all) {
		isNew, err := createMissing(ctx, client, object)
		if err != nil {
			errs = append(errs, err)
			failed[identity(object)] = true

			if ctx.Err() != nil {
				break
			}
		}

		if isNew {
			created = append(created, identity(object))
		}
	}

	if len(created) > 0 {
		log.InfoContext(ctx, "bootstrap manifests: objects created", "objects", created)
	}

	var applied []string

	for _, manifest := range all {
		whole := ctx.Err() == nil
		for _, object := range manifest.Objects {
			whole = whole && !failed[identity(object)]
		}

		if whole {
			applied = append(applied, manifest.Name)
		}
	}

	if len(errs) == 0 {
		errs = append(errs, writeInventory(ctx, client, all))
	}

	return applied, errors.Join(errs...)
}

func createMissing(ctx context.Context, client *kubeapi.Client, object kubeapi.Object) (created bool, err error) {
	path, err := client.PathOf(ctx, object)
	if err != nil {
		return false, fmt.Errorf("bootstrap manifests: %w", err)
	}

	if _, err := client.Get(ctx, path); !kubeapi.IsNotFound(err) {
		return false, err
	}

	if err := createObject(ctx, client, path, object); err != nil {
		return false, fmt.Errorf("bootstrap manifests: create %s: %w", identity(object), err)
	}

	return true, nil
}

// createObject waits a little for the object's namespace: an API server that has just started makes it before all of
// its parts know it.
func createObject(ctx context.Context, client *kubeapi.Client, path string, object kubeapi.Object) error {
	for attempt := 0; ; attempt++ {
		_, err := client.Apply(ctx, path, fieldManager, object)
		if !kubeapi.IsNotFound(err) || attempt == namespaceAttempts {
			return err
		}

		select {
		case <-ctx.Done():
			return err
		case <-time.After(namespaceWait):
		}
	}
}

func identity(object kubeapi.Object) string {
	apiVersion, kind, namespace, name := kubeapi.Identity(object)

	return apiVersion + "/" + kind + "/" + namespace + "/" + name
}

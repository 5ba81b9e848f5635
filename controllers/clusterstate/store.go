// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/etcd"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// Deps are what the controllers need from outside.
type Deps struct {
	// Shared is the state whose store they open.
	Shared *Shared
	// Endpoint of the local etcd; contract.EtcdURL when empty.
	Endpoint string
}

// Controllers of the domain.
func Controllers(deps Deps) []controller.Controller {
	return []controller.Controller{StoreController(deps.Shared, cmp.Or(deps.Endpoint, contract.EtcdURL))}
}

// etcdService is the id of etcd's service.
const etcdService = "etcd"

// openTimeout bounds the opening of the store.
const openTimeout = 15 * time.Second

// storeController opens the store when the local etcd is healthy, and closes it when the machine has no etcd any more. An open store
// follows etcd through its restarts by itself.
type storeController struct {
	*controller.Reconciler

	shared   *Shared
	endpoint string

	client *clientv3.Client // of the open store, nil for none
	with   credentials
}

// credentials are what the client of etcd was made with.
type credentials struct{ ca, crt, key string }

// StoreController returns the controller that opens the store of a state, and closes it when it ends.
func StoreController(shared *Shared, endpoint string) controller.Controller {
	c := &storeController{shared: shared, endpoint: endpoint}
	c.Reconciler = &controller.Reconciler{
		ControllerName: "clusterstate.StoreController",
		Reads: []controller.Input{
			controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
			controller.In[k8s.EndpointSpec](controller.Weak, "", ""),
			controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
			controller.In[secrets.EtcdCertsSpec](controller.Weak, "", secrets.EtcdID),
			controller.In[serviceres.ServiceSpec](controller.Weak, "", etcdService),
		},
		Reconcile: c.reconcile,
	}

	return c
}

// Run implements controller.Controller.
func (c *storeController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	defer func() { c.close(refusal{state.Unavailable, "the store is closed"}) }()

	return c.Reconciler.Run(ctx, rt, log)
}

func (c *storeController) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var (
		role    config.MachineTypeSpec
		root    secrets.EtcdRootSpec
		certs   secrets.EtcdCertsSpec
		service serviceres.ServiceSpec
	)

	configured := typed.Read(ctx, rt, config.MachineTypeID, &role)
	authority, pair := typed.Read(ctx, rt, secrets.EtcdRootID, &root), typed.Read(ctx, rt, secrets.EtcdID, &certs)
	running := typed.Read(ctx, rt, etcdService, &service)

	if err := errors.Join(configured.Err, authority.Err, pair.Err, running.Err); err != nil {
		return err
	}

	f := facts{
		configured: configured.OK, machineType: role.MachineType, credentials: authority.OK && pair.OK,
		runs: running.OK && service.Running, healthy: service.Healthy,
	}

	if configured.OK && !role.MachineType.IsControlPlane() {
		endpoints, err := typed.List[k8s.EndpointSpec](ctx, rt, "")
		if err != nil {
			return err
		}

		for _, e := range endpoints {
			f.controlPlanes = append(f.controlPlanes, e.TypedSpec().Addresses...)
		}
	}

	todo, why := plan(f)

	switch {
	case todo == stepOpen:
		return c.open(ctx, root, certs, log)
	case todo == stepClose, c.client == nil:
		c.close(why)
	}

	return nil
}

// open opens the store, unless it is open with these credentials. The previous store stays open until then.
func (c *storeController) open(ctx context.Context, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec, log *slog.Logger) error {
	with := credentials{string(root.EtcdCA.Crt), string(certs.EtcdAdmin.Crt), string(certs.EtcdAdmin.Key)}
	if c.client != nil && c.with == with {
		return nil
	}

	// The client outlives this call.
	client, err := etcdclient.New(context.WithoutCancel(ctx), root, certs, c.endpoint)
	if err != nil {
		return err
	}

	short, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()

	store, err := etcd.Open(short, client, etcd.WithPrefix(Prefix), etcd.WithLog(log))
	if err != nil {
		client.Close()

		if c.client == nil {
			c.shared.replace(nil, refusal{state.Unavailable, err.Error()})
		}

		return fmt.Errorf("cluster-wide resources: %w", err)
	}

	previous := c.client
	c.shared.replace(store, refusal{})

	c.client, c.with = client, with

	if previous != nil {
		return previous.Close()
	}

	return nil
}

// close closes the store, if it is open.
func (c *storeController) close(why refusal) {
	c.shared.replace(nil, why)

	if c.client != nil {
		c.client.Close()
		c.client = nil
	}
}

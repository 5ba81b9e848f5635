// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/controllers/keep"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/secrets"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// memberTimeout bounds a call to the local etcd.
const memberTimeout = 10 * time.Second

// memberController reads the id of this node's member from etcd once it is healthy. It keeps the id for as long as the service and the data
// exist: a restart does not change it.
func memberController(endpoint string) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "etcd.MemberController",
		Reads: []controller.Input{
			controller.In[serviceres.ServiceSpec](controller.Weak, "", ServiceID),
			controller.In[etcd.MembershipStatusSpec](controller.Weak, "", etcd.MembershipID),
			controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
			controller.In[secrets.EtcdCertsSpec](controller.Weak, "", secrets.EtcdID),
		},
		Writes:  []controller.Output{controller.Out[etcd.MemberSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[etcd.MemberSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				service serviceres.ServiceSpec
				root    secrets.EtcdRootSpec
				certs   secrets.EtcdCertsSpec
			)

			if f := typed.Read(ctx, rt, ServiceID, &service); !f.OK {
				return f.Err
			}

			// A member that was removed, or has left, has no data here any more.
			var membership etcd.MembershipStatusSpec
			if f := typed.Read(ctx, rt, etcd.MembershipID, &membership); f.Err != nil || f.OK && membership.MemberID == "" {
				return f.Err
			}

			if !service.Healthy {
				return keep.Outputs[etcd.MemberSpec](ctx, rt, etcd.MemberID)
			}

			ok, err := typed.All(typed.Read(ctx, rt, secrets.EtcdRootID, &root), typed.Read(ctx, rt, secrets.EtcdID, &certs))
			if err != nil || !ok {
				return err
			}

			id, err := localMember(ctx, endpoint, root, certs)
			if err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", etcd.MemberID, etcd.MemberSpec{MemberID: fmt.Sprintf("%016x", id)})
		},
	}
}

func localMember(ctx context.Context, endpoint string, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()

	client, err := etcdclient.New(ctx, root, certs, endpoint)
	if err != nil {
		return 0, err
	}
	defer client.Close()

	status, err := client.Status(ctx, endpoint)
	if err != nil {
		return 0, fmt.Errorf("etcd: read the id of the local member: %w", err)
	}

	return status.Header.GetMemberId(), nil
}

// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/controllers/etcd/etcdclient"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/secrets"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// memberTimeout of asking etcd who it is.
const memberTimeout = 10 * time.Second

// memberController learns the id of the own member from etcd once it is healthy, and keeps it for as long as the
// service exists: a restart does not change it.
func memberController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "etcd.MemberController",
		Reads: []controller.Input{
			controller.In[serviceres.ServiceSpec](controller.Weak, "", ServiceID),
			controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
			controller.In[secrets.EtcdCertsSpec](controller.Weak, "", secrets.EtcdID),
		},
		Writes:  []controller.Output{controller.Out[etcd.MemberSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[etcd.MemberSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			service, err := typed.Find[serviceres.ServiceSpec](ctx, rt, "", ServiceID)
			if err != nil || service == nil {
				return err
			}

			known, err := typed.Find[etcd.MemberSpec](ctx, rt, "", etcd.MemberID)
			if err != nil {
				return err
			}

			if !service.TypedSpec().Healthy {
				if known == nil {
					return nil
				}

				return typed.Set(ctx, rt, "", etcd.MemberID, *known.TypedSpec())
			}

			root, err := typed.Find[secrets.EtcdRootSpec](ctx, rt, "", secrets.EtcdRootID)
			if err != nil || root == nil {
				return err
			}

			certs, err := typed.Find[secrets.EtcdCertsSpec](ctx, rt, "", secrets.EtcdID)
			if err != nil || certs == nil {
				return err
			}

			id, err := localMember(ctx, *root.TypedSpec(), *certs.TypedSpec())
			if err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", etcd.MemberID, etcd.MemberSpec{MemberID: formatMemberID(id)})
		},
	}
}

func localMember(ctx context.Context, root secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()

	client, err := etcdclient.New(ctx, root, certs, contract.EtcdURL)
	if err != nil {
		return 0, err
	}
	defer client.Close()

	status, err := client.Status(ctx, contract.EtcdURL)
	if err != nil {
		return 0, fmt.Errorf("etcd: ask the local member for its id: %w", err)
	}

	return status.Header.GetMemberId(), nil
}

func formatMemberID(id uint64) string { return fmt.Sprintf("%016x", id) }

// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/folder"
)

// pkiController writes etcd's keys and certificates. etcd reads its own certificate anew at each handshake, so that a
// new one needs no restart.
func pkiController(root string) controller.Controller {
	return &controller.Reconciler{
		ControllerName: "etcd.PKIController",
		Reads: []controller.Input{
			controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID),
			controller.In[secrets.EtcdCertsSpec](controller.Weak, "", secrets.EtcdID),
		},
		Writes:  []controller.Output{controller.Out[etcd.PKIStatusSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[etcd.PKIStatusSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				ca    secrets.EtcdRootSpec
				certs secrets.EtcdCertsSpec
			)

			ok, err := typed.All(typed.Read(ctx, rt, secrets.EtcdRootID, &ca), typed.Read(ctx, rt, secrets.EtcdID, &certs))
			if err != nil || !ok {
				return err
			}

			files := pkiFolder(ca, certs)
			if err := folder.Write(root, files); err != nil {
				return err
			}

			return typed.Set(ctx, rt, "", etcd.PKIID, etcd.PKIStatusSpec{Ready: true, Version: folder.Digest([]folder.Folder{files})})
		},
	}
}

func pkiFolder(ca secrets.EtcdRootSpec, certs secrets.EtcdCertsSpec) folder.Folder {
	return folder.Folder{Path: PKIDir, UID: layout.UserEtcd, Files: map[string]folder.File{
		"ca.crt":     folder.Public(ca.EtcdCA.Crt),
		"server.crt": folder.Public(certs.Etcd.Crt),
		"server.key": folder.Private(certs.Etcd.Key),
		"peer.crt":   folder.Public(certs.EtcdPeer.Crt),
		"peer.key":   folder.Private(certs.EtcdPeer.Key),
		"admin.crt":  folder.Public(certs.EtcdAdmin.Crt),
		"admin.key":  folder.Private(certs.EtcdAdmin.Key),
	}}
}

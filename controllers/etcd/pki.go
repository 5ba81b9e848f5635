// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/etcd"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/folder"
)

// pkiController writes etcd's keys and certificates. etcd reads its certificate at each handshake, so a new one needs no restart.
func pkiController(root string) controller.Controller {
	return transform.Singleton[secrets.EtcdCertsSpec, etcd.PKIStatusSpec]{
		Name: "etcd.PKIController",
		InID: secrets.EtcdID, OutID: etcd.PKIID,
		Extra: []controller.Input{controller.In[secrets.EtcdRootSpec](controller.Weak, "", secrets.EtcdRootID)},
		Transform: func(ctx context.Context, r state.Reader, _ *slog.Logger, certs *secrets.EtcdCertsSpec, out *etcd.PKIStatusSpec) error {
			var ca secrets.EtcdRootSpec
			if f := typed.Read(ctx, r, secrets.EtcdRootID, &ca); !f.OK {
				return cmp.Or(f.Err, transform.ErrNoOutput)
			}

			files := pkiFolder(ca, *certs)
			*out = etcd.PKIStatusSpec{Ready: true, Version: folder.Digest([]folder.Folder{files})}

			return folder.Write(root, files)
		},
	}.Controller()
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

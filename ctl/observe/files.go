// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// Files returns the files of this package in a support bundle.
func Files(context.Context, session.Node) ([]session.BundleFile, error) {
	return []session.BundleFile{
		{Name: "version.txt", Write: writeVersion},
		{Name: "services.txt", Write: writeServices},
		{Name: "memory.txt", Write: writeMeminfo},
		session.TableFile("processes.txt", processColumns, session.Node.Processes),
		session.TableFile("disks.txt", diskColumns, session.Node.Disks),
		containersFile("containers-system.txt", client.SystemNamespace),
		containersFile("containers-kubernetes.txt", client.KubernetesNamespace),
		session.TableFile("sockets.txt", (&sockets{programs: true}).columns(), (&sockets{all: true, programs: true}).fetch),
	}, nil
}

func containersFile(name, namespace string) session.BundleFile {
	return session.TableFile(name, containerColumns, func(n session.Node, ctx context.Context) ([]*machine.ContainerInfo, error) {
		return n.Containers(ctx, namespace)
	})
}

func writeServices(ctx context.Context, n session.Node, w io.Writer) error {
	services, err := n.Services(ctx)
	if err != nil {
		return err
	}

	for _, service := range services {
		if err := session.NewTable(w).Print(serviceDetails(n.Name, service, time.Now())...); err != nil {
			return err
		}

		fmt.Fprintln(w)
	}

	return nil
}

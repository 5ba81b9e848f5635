// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
)

func observeFiles(context.Context, Node) ([]BundleFile, error) {
	return []BundleFile{
		{Name: "version.txt", Write: writeVersion},
		{Name: "services.txt", Write: writeServices},
		{Name: "memory.txt", Write: writeMeminfo},
		TableFile("processes.txt", processColumns, Node.Processes),
		TableFile("disks.txt", diskColumns, Node.Disks),
		containersFile("containers-system.txt", client.SystemNamespace),
		containersFile("containers-kubernetes.txt", client.KubernetesNamespace),
		TableFile("sockets.txt", (&sockets{programs: true}).columns(), (&sockets{all: true, programs: true}).fetch),
	}, nil
}

func containersFile(name, namespace string) BundleFile {
	return TableFile(name, containerColumns, func(n Node, ctx context.Context) ([]*machine.ContainerInfo, error) {
		return n.Containers(ctx, namespace)
	})
}

func writeServices(ctx context.Context, n Node, w io.Writer) error {
	services, err := n.Services(ctx)
	if err != nil {
		return err
	}

	for _, service := range services {
		if err := NewTable(w).Print(serviceDetails(n.Name, service, time.Now())...); err != nil {
			return err
		}

		fmt.Fprintln(w)
	}

	return nil
}

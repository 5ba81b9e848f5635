// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/graph"
)

// supportItems are the files of a node in a support bundle.
func (n node) supportItems(ctx context.Context) ([]item, error) {
	definitions, err := bounded(ctx, n, node.Definitions)
	if err != nil {
		return nil, err
	}

	items := []item{
		{"version.txt", func(ctx context.Context, n node, w io.Writer) error {
			v, err := n.Version(ctx)
			if err != nil {
				return err
			}

			printServerVersion(w, n.name, v)

			return nil
		}},
		{"dmesg.log", func(ctx context.Context, n node, w io.Writer) error { return save(w, n.Dmesg(ctx, false, false)) }},
		{"controllers.dot", writeControllers},
		{"events.txt", writeEvents},
		{"services.txt", writeServices},
		{"mounts.txt", tableItem(mountColumns, node.Mounts)},
		{"processes.txt", tableItem(processColumns, node.Processes)},
		{"disks.txt", tableItem(diskColumns, node.Disks)},
		{"memory.txt", func(ctx context.Context, n node, w io.Writer) error {
			info, err := n.Memory(ctx)
			if err != nil {
				return err
			}

			return printMeminfo(w, n.name, info)
		}},
		{"containers-system.txt", containersItem(client.SystemNamespace)},
		{"containers-kubernetes.txt", containersItem(client.KubernetesNamespace)},
		{"sockets.txt", tableItem((&sockets{programs: true}).columns(), (&sockets{all: true, programs: true}).fetch)},
		{"etcd-members.txt", tableItem(memberColumns, func(n node, ctx context.Context) ([]*machine.EtcdMember, error) { return n.EtcdMembers(ctx, false) })},
		{"etcd-status.txt", tableItem(etcdStatusColumns, single(node.EtcdStatus))},
	}

	for _, definition := range definitions {
		if definition.Sensitivity == "" {
			items = append(items, resourcesItem(definition))
		}
	}

	return append(items, n.logItems(ctx)...), nil
}

// logItems are all logs that the node has, or those of its services if it cannot list logs, and those of pods.
func (n node) logItems(ctx context.Context) []item {
	names, err := bounded(ctx, n, node.LogNames)
	if err != nil {
		names, _ = bounded(ctx, n, node.serviceIDs)
	}

	var items []item

	for _, name := range names {
		items = append(items, logItem(client.SystemNamespace, name))
	}

	// Why there are none is told beside containers-kubernetes.txt.
	containers, _ := bounded(ctx, n, func(n node, ctx context.Context) ([]*machine.ContainerInfo, error) {
		return n.Containers(ctx, client.KubernetesNamespace)
	})
	for _, container := range containers {
		if container.GetId() != container.GetPodId() {
			items = append(items, logItem(client.KubernetesNamespace, container.GetId()))
		}
	}

	return items
}

func logItem(namespace, id string) item {
	request := &machine.LogsRequest{Namespace: namespace, Id: id, TailLines: -1}
	if namespace == client.KubernetesNamespace {
		request.Driver = common.ContainerDriver_CRI
	}

	return item{"logs/" + namespace + "/" + fileName(id) + ".log", func(ctx context.Context, n node, w io.Writer) error {
		return save(w, n.Logs(ctx, request))
	}}
}

func save(w io.Writer, stream io.ReadCloser) error {
	defer stream.Close()

	_, err := io.Copy(w, stream)

	return err
}

func tableItem[T any](columns []column[T], fetch func(n node, ctx context.Context) ([]T, error)) func(ctx context.Context, n node, w io.Writer) error {
	return func(ctx context.Context, n node, w io.Writer) error {
		found, err := fetch(n, ctx)
		if err != nil {
			return err
		}

		header := []string{"NODE"}
		for _, c := range columns {
			header = append(header, c.name)
		}

		return newTable(w, header...).print((&listing[T]{columns: columns}).rows(n.name, found)...)
	}
}

func containersItem(namespace string) func(ctx context.Context, n node, w io.Writer) error {
	return tableItem(containerColumns, func(n node, ctx context.Context) ([]*machine.ContainerInfo, error) {
		return n.Containers(ctx, namespace)
	})
}

func writeControllers(ctx context.Context, n node, w io.Writer) error {
	edges, err := n.ControllerDependencies(ctx)
	if err != nil {
		return err
	}

	return graph.Write(w, edges, nil)
}

func writeServices(ctx context.Context, n node, w io.Writer) error {
	services, err := n.Services(ctx)
	if err != nil {
		return err
	}

	for _, service := range services {
		if err := newTable(w).print(serviceDetails(n.name, service, time.Now())...); err != nil {
			return err
		}

		fmt.Fprintln(w)
	}

	return nil
}

// quiet is how long a past event may take to come after the one before.
const quiet = 3 * time.Second

// writeEvents writes the past events; the stream of those to come does not end, so a quiet while is its end.
func writeEvents(ctx context.Context, n node, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	over := time.AfterFunc(quiet, cancel)
	defer over.Stop()

	for event, err := range n.Events(ctx, &machine.EventsRequest{TailEvents: -1}) {
		if err != nil && ctx.Err() != nil {
			return nil
		}

		if err != nil {
			return err
		}

		over.Reset(quiet)

		source, message := describeEvent(event)
		fmt.Fprintln(w, strings.Join([]string{event.ID, event.Type, event.ActorID, source, message}, "\t"))
	}

	return nil
}

func resourcesItem(definition client.Definition) item {
	return item{"resources/" + fileName(strings.ToLower(definition.Type)) + ".yaml", func(ctx context.Context, n node, w io.Writer) error {
		var contents [][]byte

		for r, err := range n.Resources(ctx, client.Kind{Namespace: definition.DefaultNamespace, Type: definition.Type}) {
			if err != nil {
				return err
			}

			content, err := encodeYAML(document{node: n.name, change: change{resource: r}})
			if err != nil {
				return err
			}

			contents = append(contents, content)
		}

		slices.SortFunc(contents, func(a, b []byte) int { return cmp.Compare(string(a), string(b)) })

		return (&documents{w: w, separator: "---\n"}).write(contents...)
	}}
}

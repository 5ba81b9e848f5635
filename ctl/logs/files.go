// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// Files returns the files of this package in a support bundle: the kernel log, the events, the logs that the node lists (or those of its
// services, if it cannot list logs) and the logs of pods, with those of earlier attempts.
func Files(ctx context.Context, n session.Node) ([]session.BundleFile, error) {
	names, err := session.Bounded(ctx, n, session.Node.LogNames)
	if err != nil {
		names, _ = session.Bounded(ctx, n, session.ServiceIDs)
	}

	files := []session.BundleFile{
		{Name: "dmesg.log", Write: func(ctx context.Context, n session.Node, w io.Writer) error {
			return save(w, n.Dmesg(ctx, false, false))
		}},
		{Name: "events.txt", Write: writeEvents},
	}

	for _, name := range names {
		files = append(files, logFile(client.SystemNamespace, name))
	}

	// The failure is reported for containers-kubernetes.txt.
	containers, _ := session.Bounded(ctx, n, func(n session.Node, ctx context.Context) ([]*machine.ContainerInfo, error) {
		return n.Containers(ctx, client.KubernetesNamespace)
	})
	for _, container := range containers {
		if container.GetId() != container.GetPodId() {
			files = append(files, logFile(client.KubernetesNamespace, container.GetId()))
		}
	}

	if len(containers) > 0 {
		files = append(files, attemptFiles(ctx, n)...)
	}

	return files, nil
}

func logFile(namespace, id string) session.BundleFile {
	request := &machine.LogsRequest{Namespace: namespace, Id: id, TailLines: -1}
	if namespace == client.KubernetesNamespace {
		request.Driver = common.ContainerDriver_CRI
	}

	return session.BundleFile{Name: "logs/" + namespace + "/" + session.PlainName(id) + ".log", Write: func(ctx context.Context, n session.Node, w io.Writer) error {
		return save(w, n.Logs(ctx, request))
	}}
}

func save(w io.Writer, stream io.ReadCloser) error {
	defer stream.Close()

	_, err := io.Copy(w, stream)

	return err
}

// quiet is the longest time between two past events.
const quiet = 3 * time.Second

// writeEvents writes the past events. The stream does not end, so writeEvents stops when no event comes for a while.
func writeEvents(ctx context.Context, n session.Node, w io.Writer) error {
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

		source, message := event.Describe()
		fmt.Fprintln(w, strings.Join([]string{event.ID, event.Type, event.ActorID, source, message}, "\t"))
	}

	return nil
}

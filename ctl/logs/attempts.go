// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"cmp"
	"context"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/layout"
)

// attemptFiles returns the logs of the attempts before the last one of containers of pods: why they were started again is there. The kubelet keeps them in
// layout.PodLogsDir, as NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log.
func attemptFiles(ctx context.Context, n session.Node) []session.BundleFile {
	const folder = "logs/" + client.KubernetesNamespace + "/attempts/"

	names, err := session.Bounded(ctx, n, func(n session.Node, ctx context.Context) ([]string, error) {
		var names []string

		for file, err := range n.List(ctx, &machine.ListRequest{Root: layout.PodLogsDir, Recurse: true, Types: []machine.ListRequest_Type{machine.ListRequest_REGULAR}}) {
			if err != nil {
				return nil, err
			}

			names = append(names, file.GetRelativeName())
		}

		return names, nil
	})
	if err != nil {
		return []session.BundleFile{{Name: folder, Write: func(context.Context, session.Node, io.Writer) error { return err }}}
	}

	var files []session.BundleFile

	for _, name := range earlierAttempts(names) {
		files = append(files, session.BundleFile{Name: folder + name, Write: func(ctx context.Context, n session.Node, w io.Writer) error {
			return save(w, n.Read(ctx, path.Join(layout.PodLogsDir, name)))
		}})
	}

	return files
}

// earlierAttempts returns, of the names of logs, those that are not of the last attempt of their container, sorted. Names that are none of an attempt
// are left out: a log that the kubelet has rotated, and what a machine should not answer.
func earlierAttempts(names []string) []string {
	type attempt struct {
		name   string
		number uint64
	}

	of := map[string][]attempt{}

	for _, name := range names {
		dir, file := path.Split(name)

		text, isLog := strings.CutSuffix(file, ".log")
		if number, err := strconv.ParseUint(text, 10, 64); isLog && err == nil && path.Clean(name) == name && strings.Count(name, "/") == 2 && !strings.HasPrefix(name, "../") {
			of[dir] = append(of[dir], attempt{name, number})
		}
	}

	var earlier []string

	for _, attempts := range of {
		last := slices.MaxFunc(attempts, func(a, b attempt) int { return cmp.Compare(a.number, b.number) })

		for _, a := range attempts {
			if a.number < last.number {
				earlier = append(earlier, a.name)
			}
		}
	}

	slices.Sort(earlier)

	return earlier
}

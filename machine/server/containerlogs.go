// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// podLogs is where the kubelet keeps the logs of containers: NAMESPACE_POD_UID/CONTAINER/RESTARTS.log.
var podLogs = "/var/log/pods"

// followInterval is how often a followed file is looked at for more.
const followInterval = 300 * time.Millisecond

// containerLogs sends the log of a pod's container, whose id is NAMESPACE/POD:CONTAINER, optionally with a further
// :ID, as `talosctl containers -k` prints them.
func (s *Server) containerLogs(ctx context.Context, id string, tail int, follow bool, send func([]byte) error) error {
	path, err := findPodLog(podLogs, id)
	if err != nil {
		return err
	}

	f, err := os.Open(path)
	if err != nil {
		return status.Errorf(codes.NotFound, "logs of %q: %v", id, err)
	}
	defer f.Close() //nolint:errcheck

	reader := bufio.NewReader(f)

	lines, err := readLines(reader)
	if err != nil {
		return status.Errorf(codes.Internal, "logs of %q: %v", id, err)
	}

	if tail >= 0 && tail < len(lines) {
		lines = lines[len(lines)-tail:]
	}

	for {
		for chunk := range slices.Chunk(lines, 256) {
			if err := send(bytes.Join(chunk, nil)); err != nil {
				return err
			}
		}

		if !follow {
			return nil
		}

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followInterval):
		}

		if lines, err = readLines(reader); err != nil {
			return status.Errorf(codes.Internal, "logs of %q: %v", id, err)
		}
	}
}

func readLines(r *bufio.Reader) ([][]byte, error) {
	var lines [][]byte

	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			lines = append(lines, line)
		}

		if errors.Is(err, io.EOF) {
			return lines, nil
		}

		if err != nil {
			return nil, err
		}
	}
}

func findPodLog(root, id string) (string, error) {
	namespace, rest, ok := strings.Cut(id, "/")
	pod, container, hasContainer := strings.Cut(rest, ":")
	container, _, _ = strings.Cut(container, ":")

	if !ok || !hasContainer || strings.ContainsAny(namespace+pod+container, "/*?[\\") {
		return "", status.Errorf(codes.InvalidArgument, "logs of %q: the id of a container is NAMESPACE/POD:CONTAINER", id)
	}

	files, err := filepath.Glob(filepath.Join(root, namespace+"_"+pod+"_*", container, "*.log"))
	if err != nil || len(files) == 0 {
		return "", status.Errorf(codes.NotFound, "logs of %q: there is no such container on this node", id)
	}

	// The newest is the one with the most restarts, of the pod that was made last.
	return slices.MaxFunc(files, func(a, b string) int {
		if d := modified(filepath.Dir(filepath.Dir(a))).Compare(modified(filepath.Dir(filepath.Dir(b)))); d != 0 {
			return d
		}

		return restarts(a) - restarts(b)
	}), nil
}

func modified(path string) time.Time {
	st, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}

	return st.ModTime()
}

func restarts(path string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".log"))
	if err != nil {
		return -1
	}

	return n
}

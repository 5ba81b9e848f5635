// SPDX-License-Identifier: Apache-2.0

package pressure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Class is the quality of service that Kubernetes gives a pod, or one of two kinds of groups of the machine itself. A lower one is ended
// first.
type Class int

// The classes. PodRuntime is what pods need (the kubelet, containerd, etcd), System everything else; neither has pods.
const (
	BestEffort Class = iota
	Burstable
	Guaranteed
	PodRuntime
	System
)

// Pod is the cgroup of a pod.
type Pod struct {
	// Path is below the mount of cgroup2.
	Path  string
	Class Class
	// Static is whether the pod is one of the machine's own (the control plane), and not of the API.
	Static bool
	// Used is the memory in bytes that is free when the pod has ended.
	Used uint64
	// Memory are the values of the files of the cgroup, in bytes.
	Memory Memory
}

// Memory is the memory of a cgroup, or of several, in bytes. A value is nil where a cgroup does not have the file, or has no limit.
type Memory struct{ Current, Peak, Max *uint64 }

// memoryOf reads the files of a cgroup. Those that cannot be read have no value: the kernel may not have one, or the cgroup has ended.
func memoryOf(folder string) Memory {
	read := func(name string) *uint64 {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil
		}

		n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63)
		if err != nil { // "max"
			return nil
		}

		return &n
	}

	return Memory{Current: read("memory.current"), Peak: read("memory.peak"), Max: read("memory.max")}
}

var classFolders = map[Class]string{BestEffort: "kubepods/besteffort", Burstable: "kubepods/burstable", Guaranteed: "kubepods"}

// Pods lists the pods in the tree of cgroups that is mounted at a folder.
func Pods(cgroups string) ([]Pod, error) {
	var pods []Pod

	for class, folder := range classFolders {
		entries, err := os.ReadDir(filepath.Join(cgroups, folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list pods: %w", err)
		}

		for _, e := range entries {
			uid, isPod := strings.CutPrefix(e.Name(), "pod")
			if !isPod || !e.IsDir() {
				continue
			}

			path := filepath.Join(folder, e.Name())

			stat, err := os.ReadFile(filepath.Join(cgroups, path, "memory.stat"))
			if err != nil { // it has ended
				continue
			}

			// The kubelet names a static pod by a hash of its manifest, and the API server names pods by UUIDs, which have dashes.
			pods = append(pods, Pod{
				Path: path, Class: class, Static: !strings.ContainsAny(uid, "-_"),
				Used: field(string(stat), "anon") + field(string(stat), "shmem"), Memory: memoryOf(filepath.Join(cgroups, path)),
			})
		}
	}

	return pods, nil
}

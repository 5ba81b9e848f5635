// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	containers "github.com/containerd/containerd/api/services/containers/v1"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Labels and annotations that the CRI plugin sets on containers.
const (
	labelKind          = "io.cri-containerd.kind"
	labelPodName       = "io.kubernetes.pod.name"
	labelPodNamespace  = "io.kubernetes.pod.namespace"
	labelPodUID        = "io.kubernetes.pod.uid"
	labelContainerName = "io.kubernetes.container.name"

	annotationSandbox = "io.kubernetes.cri.sandbox-id"
	kindSandbox       = "sandbox"
)

// shortID is the length of the part of a container's id that is in Listed.ID.
const shortID = 12

// maxAnswer of containerd in bytes: one answer has the specs of all containers.
const maxAnswer = 64 << 20

// Listed is a container as it is shown to users.
type Listed struct {
	// Namespace of containerd.
	Namespace string
	// ID is NAMESPACE/POD for a pod's sandbox, and NAMESPACE/POD:CONTAINER:SHORT for its containers. InternalID is containerd's id.
	// For a container without a pod, all ids are the same.
	ID, InternalID string
	// PodID is NAMESPACE/POD.
	PodID, PodUID, Name, Image string
	// PID of its first process; zero when it is not running.
	PID uint32
	// Status is that of the task in capital letters. For a container of a pod it has the prefix CONTAINER_; for a sandbox it is
	// SANDBOX_READY or SANDBOX_NOTREADY.
	Status string
	// NetworkNamespace is the name of the pod's network namespace; empty when the pod uses the host's.
	NetworkNamespace string
	// Running is set when it has processes.
	Running bool
	// Sandbox is set for the sandbox of a pod.
	Sandbox bool
}

// Inventory lists the containers of containerd. It holds a connection.
type Inventory struct {
	conn *grpc.ClientConn
}

// OpenInventory returns an inventory, which connects to containerd at the first call.
func OpenInventory(socket string) (*Inventory, error) {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("connect to containerd at %s: %w", socket, err)
	}

	return &Inventory{conn: conn}, nil
}

// Close ends the connection.
func (i *Inventory) Close() error { return i.conn.Close() }

// List returns the containers of a containerd namespace, pod by pod, each with its sandbox first.
func (i *Inventory) List(ctx context.Context, namespace string) ([]Listed, error) {
	ctx = namespaces.WithNamespace(ctx, namespace)

	all, err := containers.NewContainersClient(i.conn).List(ctx, &containers.ListContainersRequest{})
	if err != nil {
		return nil, fmt.Errorf("list containers of %s: %w", namespace, err)
	}

	running, err := tasks.NewTasksClient(i.conn).List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return nil, fmt.Errorf("list tasks of %s: %w", namespace, err)
	}

	return listed(namespace, all.GetContainers(), running.GetTasks()), nil
}

// listed combines containers with their tasks.
func listed(namespace string, all []*containers.Container, running []*task.Process) []Listed {
	processes := map[string]*task.Process{}

	for _, p := range running {
		processes[cmp.Or(p.GetContainerID(), p.GetID())] = p
	}

	specs := map[string]spec{}
	for _, c := range all {
		specs[c.GetID()] = parseSpec(c.GetSpec().GetValue())
	}

	out := make([]Listed, 0, len(all))

	for _, c := range all {
		l := describe(c, processes[c.GetID()])
		l.Namespace = namespace

		// Only the spec of the sandbox has the name of the network namespace; that of a container has the sandbox's process.
		sandbox := cmp.Or(specs[c.GetID()].Annotations[annotationSandbox], c.GetID())
		l.NetworkNamespace = specs[sandbox].networkNamespace()

		out = append(out, l)
	}

	slices.SortFunc(out, func(a, b Listed) int {
		return cmp.Or(cmp.Compare(a.PodID, b.PodID), cmp.Compare(a.nameInPod(), b.nameInPod()), cmp.Compare(a.ID, b.ID))
	})

	return out
}

// nameInPod is empty for the sandbox, which comes first.
func (l Listed) nameInPod() string {
	if l.Sandbox {
		return ""
	}

	return l.Name
}

func describe(c *containers.Container, p *task.Process) Listed {
	labels := c.GetLabels()
	status := task.Status_STOPPED

	if p != nil {
		status = p.GetStatus()
	}

	l := Listed{
		ID: c.GetID(), InternalID: c.GetID(), PodID: c.GetID(), Name: c.GetID(), Image: c.GetImage(), PID: p.GetPid(),
		Status: status.String(), Running: status == task.Status_RUNNING || status == task.Status_PAUSED || status == task.Status_PAUSING,
	}

	if !l.Running {
		l.PID = 0
	}

	if labels[labelPodName] == "" {
		return l
	}

	l.PodID, l.PodUID = labels[labelPodNamespace]+"/"+labels[labelPodName], labels[labelPodUID]

	if labels[labelKind] == kindSandbox {
		l.ID, l.Name, l.Sandbox, l.Status = l.PodID, labels[labelPodName], true, "SANDBOX_NOTREADY"
		if l.Running {
			l.Status = "SANDBOX_READY"
		}

		return l
	}

	l.Name = labels[labelContainerName]
	l.ID = l.PodID + ":" + l.Name + ":" + c.GetID()[:min(shortID, len(c.GetID()))]
	l.Status = podStatus[status]

	return l
}

var podStatus = map[task.Status]string{
	task.Status_UNKNOWN: "CONTAINER_UNKNOWN",
	task.Status_CREATED: "CONTAINER_CREATED",
	task.Status_RUNNING: "CONTAINER_RUNNING",
	task.Status_STOPPED: "CONTAINER_EXITED",
	task.Status_PAUSED:  "CONTAINER_RUNNING",
	task.Status_PAUSING: "CONTAINER_RUNNING",
}

// spec is the part of a runtime spec that the inventory needs.
type spec struct {
	Annotations map[string]string `json:"annotations"`
	Linux       struct {
		Namespaces []struct {
			Type string `json:"type"`
			Path string `json:"path"`
		} `json:"namespaces"`
	} `json:"linux"`
}

// parseSpec decodes a runtime spec; an invalid one is empty.
func parseSpec(text []byte) spec {
	var s spec
	if err := json.Unmarshal(text, &s); err != nil {
		return spec{}
	}

	return s
}

func (s spec) networkNamespace() string {
	for _, n := range s.Linux.Namespaces {
		if n.Type == "network" && n.Path != "" && !strings.HasPrefix(n.Path, "/proc/") {
			return filepath.Base(n.Path)
		}
	}

	return ""
}

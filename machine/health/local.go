// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/v1alpha1"
)

// The least that a control plane node works with. A kernel keeps a part of the memory to itself.
const (
	minMemory  = 2 << 30
	kernelPart = minMemory / 8
	minDisk    = 6 << 30
)

// service is a check that a service of this node is up.
func (s *Source) service(id string) func(context.Context) error {
	return func(ctx context.Context) error {
		svc, err := typed.Find[v1alpha1.ServiceSpec](ctx, s.State, "", id)

		switch {
		case err != nil:
			return err
		case svc == nil:
			return fmt.Errorf("service %s is not there yet", id)
		case !svc.TypedSpec().Running:
			return fmt.Errorf("service %s is not running", id)
		case !svc.TypedSpec().Up():
			return fmt.Errorf("service %s is running but not healthy", id)
		default:
			return nil
		}
	}
}

func (s *Source) memorySize(context.Context) error {
	total, err := s.Memory()
	if err != nil {
		return err
	}

	if total < minMemory-kernelPart {
		return fmt.Errorf("the machine has %d MiB of memory, a control plane node needs %d MiB", total>>20, minMemory>>20)
	}

	return nil
}

func (s *Source) diskSize(ctx context.Context) error {
	system, err := typed.Find[block.SystemDiskSpec](ctx, s.State, "", block.SystemDiskID)
	if err != nil {
		return err
	}

	if system == nil {
		return errors.New("the system disk is not known yet")
	}

	id := system.TypedSpec().DiskID

	disk, err := typed.Get[block.DiskSpec](ctx, s.State, "", id)
	if err != nil {
		return fmt.Errorf("system disk %s: %w", id, err)
	}

	if size := disk.TypedSpec().Size; size < minDisk {
		return fmt.Errorf("system disk %s has %d MiB, a control plane node needs %d MiB", id, size>>20, minDisk>>20)
	}

	return nil
}

func (s *Source) bootFinished(ctx context.Context) error {
	machine, err := typed.Find[runtime.MachineStatusSpec](ctx, s.State, "", runtime.MachineStatusID)
	if err != nil {
		return err
	}

	if machine == nil {
		return errors.New("the machine has no status yet")
	}

	spec := machine.TypedSpec()
	if spec.Stage == runtime.StageRunning {
		return nil
	}

	var unmet []string
	for _, c := range spec.Status.UnmetConditions {
		unmet = append(unmet, c.Name+": "+c.Reason)
	}

	if len(unmet) == 0 {
		return fmt.Errorf("the machine is %s", spec.Stage)
	}

	return fmt.Errorf("the machine is %s (%s)", spec.Stage, strings.Join(unmet, "; "))
}

// staticPodsRunning wants a running pod of each that this node should run, by the kubelet's own word.
func (s *Source) staticPodsRunning(ctx context.Context) error {
	wanted, err := typed.List[k8s.StaticPodSpec](ctx, s.State, "")
	if err != nil {
		return err
	}

	if len(wanted) == 0 {
		return errors.New("no static pods are rendered yet")
	}

	nodename, err := s.nodename(ctx)
	if err != nil {
		return err
	}

	var errs []error

	for _, pod := range wanted {
		name := podName(pod.TypedSpec().Pod)

		// The kubelet adds the node's name to the pod's.
		phase, err := s.staticPodPhase(ctx, name+"-"+nodename)

		switch {
		case err != nil:
			errs = append(errs, err)
		case phase == "":
			errs = append(errs, fmt.Errorf("static pod %s has not been reported", name))
		case phase != "Running":
			errs = append(errs, fmt.Errorf("static pod %s is %s", name, phase))
		}
	}

	return errors.Join(errs...)
}

func (s *Source) nodename(ctx context.Context) (string, error) {
	name, err := typed.Find[k8s.NodenameSpec](ctx, s.State, "", k8s.NodenameID)
	if err != nil {
		return "", err
	}

	if name == nil {
		return "", errors.New("the node has no name yet")
	}

	return name.TypedSpec().Nodename, nil
}

func (s *Source) staticPodPhase(ctx context.Context, id string) (string, error) {
	status, err := typed.Find[k8s.StaticPodStatusSpec](ctx, s.State, "", id)
	if err != nil || status == nil {
		return "", err
	}

	phase, _ := status.TypedSpec().PodStatus["phase"].(string)

	return phase, nil
}

// podName is NAMESPACE/NAME of a static pod.
func podName(pod map[string]any) string {
	metadata, _ := pod["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)

	if namespace == "" {
		namespace = "default"
	}

	return namespace + "/" + name
}

// Reader is what of the state is read.
type Reader = state.Reader

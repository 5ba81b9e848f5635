// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// Machine is a machine whose own state is checked.
type Machine struct {
	// Name is the prefix of errors; empty if there is one machine only.
	Name         string
	ControlPlane bool

	State state.Reader
	// Memory returns the size of the machine's memory, in bytes.
	Memory func(ctx context.Context) (uint64, error)
}

// Minimum sizes, in bytes.
const (
	minMemoryControlPlane = 2 << 30
	minMemoryWorker       = 1 << 30
	minDisk               = 6 << 30
)

// onAll returns a check of all machines at the same time.
func (s *Source) onAll(check func(context.Context, Machine) error) func(context.Context) error {
	return func(ctx context.Context) error {
		checked := make([]<-chan error, len(s.Machines))
		for i, m := range s.Machines {
			checked[i] = guard.Go(func() error { return check(ctx, m) })
		}

		errs := make([]error, len(checked))
		for i, result := range checked {
			if errs[i] = <-result; errs[i] != nil && s.Machines[i].Name != "" {
				errs[i] = fmt.Errorf("%s: %w", s.Machines[i].Name, errs[i])
			}
		}

		return errors.Join(errs...)
	}
}

// onControlPlanes is onAll for the control plane nodes.
func (s *Source) onControlPlanes(check func(context.Context, Machine) error) func(context.Context) error {
	return s.onAll(func(ctx context.Context, m Machine) error {
		if !m.ControlPlane {
			return nil
		}

		return check(ctx, m)
	})
}

// config returns the configuration of a control plane node, which has the settings of the cluster.
func (s *Source) config(ctx context.Context) (*view.Config, error) {
	for _, m := range s.Machines {
		if !m.ControlPlane {
			continue
		}

		cfg, err := typed.Get[config.MachineConfigSpec](ctx, m.State, "", config.ActiveID)
		if err != nil {
			return nil, err
		}

		if says := cfg.TypedSpec().View(); says.Complete() {
			return says, nil
		}
	}

	return nil, errors.New("no control plane node has a configuration yet")
}

// service returns a check that a service is up.
func service(id string) func(context.Context, Machine) error {
	return func(ctx context.Context, m Machine) error {
		svc, err := typed.Find[serviceres.ServiceSpec](ctx, m.State, "", id)

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

func memorySize(ctx context.Context, m Machine) error {
	total, err := m.Memory(ctx)
	if err != nil {
		return err
	}

	kind, least := "a worker", uint64(minMemoryWorker)
	if m.ControlPlane {
		kind, least = "a control plane node", minMemoryControlPlane
	}

	// A kernel reserves a part of the memory.
	if total < least-least/8 {
		return fmt.Errorf("the machine has %d MiB of memory, %s needs %d MiB", total>>20, kind, least>>20)
	}

	return nil
}

func diskSize(ctx context.Context, m Machine) error {
	system, err := typed.Find[block.SystemDiskSpec](ctx, m.State, "", block.SystemDiskID)
	if err != nil {
		return err
	}

	if system == nil {
		// A container has no system disk.
		shared, err := typed.Find[runtime.PlatformConditionSpec](ctx, m.State, "", runtime.PlatformDisks)
		if err != nil || shared != nil {
			return err
		}

		return errors.New("the system disk is not known yet")
	}

	id := system.TypedSpec().DiskID

	disk, err := typed.Get[block.DiskSpec](ctx, m.State, "", id)
	if err != nil {
		return fmt.Errorf("system disk %s: %w", id, err)
	}

	if size := disk.TypedSpec().Size; size < minDisk {
		return fmt.Errorf("system disk %s has %d MiB, a machine needs %d MiB", id, size>>20, minDisk>>20)
	}

	return nil
}

func bootFinished(ctx context.Context, m Machine) error {
	found, err := typed.Find[runtime.MachineStatusSpec](ctx, m.State, "", runtime.MachineStatusID)
	if err != nil {
		return err
	}

	if found == nil {
		return errors.New("the machine has no status yet")
	}

	spec := found.TypedSpec()
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

// staticPodsRunning checks that the kubelet reports each static pod of this node as running.
func staticPodsRunning(ctx context.Context, m Machine) error {
	wanted, err := typed.List[k8s.StaticPodSpec](ctx, m.State, "")
	if err != nil {
		return err
	}

	if len(wanted) == 0 {
		return errors.New("no static pods are rendered yet")
	}

	nodename, err := m.nodename(ctx)
	if err != nil {
		return err
	}

	var errs []error

	for _, pod := range wanted {
		name := podName(pod.TypedSpec().Pod)

		// The kubelet adds the node's name to the pod's.
		phase, err := m.staticPodPhase(ctx, name+"-"+nodename)

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

func (m Machine) nodename(ctx context.Context) (string, error) {
	name, err := typed.Find[k8s.NodenameSpec](ctx, m.State, "", k8s.NodenameID)
	if err != nil {
		return "", err
	}

	if name == nil {
		return "", errors.New("the node has no name yet")
	}

	return name.TypedSpec().Nodename, nil
}

func (m Machine) staticPodPhase(ctx context.Context, id string) (string, error) {
	status, err := typed.Find[k8s.StaticPodStatusSpec](ctx, m.State, "", id)
	if err != nil || status == nil {
		return "", err
	}

	phase, _ := status.TypedSpec().PodStatus["phase"].(string)

	return phase, nil
}

// podName returns NAMESPACE/NAME of a static pod.
func podName(pod map[string]any) string {
	metadata, _ := pod["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)

	return cmp.Or(namespace, "default") + "/" + name
}

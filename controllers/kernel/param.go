// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/platform"
)

// param is the wanted value of a parameter.
type param = runtime.KernelParamSpecSpec

// ParamController sets the parameters below root ("/" outside of tests), and restores their original values when their specs are
// destroyed. The configuration overrides the defaults.
//
// It also runs when a kernel module was loaded, because modules have parameters (net.bridge is of br_netfilter).
//
// Where the kernel is the host's, only parameters of the machine's own network are set. All others are published as unsupported, with
// their current value.
func ParamController(root string, p platform.Platform) controller.Controller {
	c := &paramController{root: root, platform: p, original: map[string]string{}}

	return &controller.Reconciler{
		ControllerName: "runtime.KernelParamSpecController",
		Reads: []controller.Input{
			controller.In[runtime.KernelParamDefaultSpecSpec](controller.Weak, ""),
			controller.In[runtime.KernelParamSpecSpec](controller.Weak, ""),
			controller.In[runtime.LoadedKernelModuleSpec](controller.Weak, ""),
		},
		Writes:    []controller.Output{controller.Out[runtime.KernelParamStatusSpec](controller.Exclusive)},
		Cleanup:   []resource.Kind{resource.KindOf[runtime.KernelParamStatusSpec]("")},
		Reconcile: c.reconcile,
	}
}

type paramController struct {
	root     string
	platform platform.Platform
	// original has, by id, the values of parameters before they were changed.
	original map[string]string
}

func (c *paramController) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	wanted, err := wantedParams(ctx, rt)
	if err != nil {
		return err
	}

	var errs []error

	// In order: a link that accepts routers although it forwards (accept_ra 2) needs that setting before it forwards. Otherwise it
	// loses the routes of the routers.
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		status, err := c.apply(id, wanted[id])
		if err != nil {
			errs = append(errs, err)

			continue
		}

		if err := typed.Set(ctx, rt, "", id, status); err != nil {
			return err
		}
	}

	// Restore in the opposite order, for the same reason.
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(c.original))) {
		value := c.original[id]
		if _, ok := wanted[id]; ok {
			continue
		}

		if err := os.WriteFile(c.path(id), []byte(value), 0); err != nil && !errors.Is(err, fs.ErrNotExist) { // its link may be removed
			log.WarnContext(ctx, "the kernel parameter cannot be restored", "parameter", id, "value", value, "error", err)
		}

		delete(c.original, id)
	}

	return errors.Join(errs...)
}

func wantedParams(ctx context.Context, rt controller.Runtime) (map[string]param, error) {
	wanted := map[string]param{}

	defaults, err := typed.List[runtime.KernelParamDefaultSpecSpec](ctx, rt, "")
	if err != nil {
		return nil, err
	}

	for _, r := range defaults {
		wanted[r.Metadata().ID()] = param(*r.TypedSpec())
	}

	specs, err := typed.List[runtime.KernelParamSpecSpec](ctx, rt, "")
	if err != nil {
		return nil, err
	}

	for _, r := range specs {
		wanted[r.Metadata().ID()] = *r.TypedSpec()
	}

	return wanted, nil
}

// path returns the path of a parameter: dots become slashes. A dot within a name is written as a slash (net.ipv4.conf.eth0/1), as
// sysctl(8) does.
func (c *paramController) path(id string) string {
	swap := strings.NewReplacer(".", "/", "/", ".")

	return filepath.Join(c.root, swap.Replace(id))
}

// own reports whether a parameter is of the network. The kernel refuses those that are not of the network namespace. The path decides,
// not the name: net.//.kernel.panic leads out of net.
func (c *paramController) own(id string) bool {
	return strings.HasPrefix(c.path(id), filepath.Join(c.root, "proc/sys/net")+"/")
}

// apply sets a parameter if the machine owns it.
func (c *paramController) apply(id string, p param) (runtime.KernelParamStatusSpec, error) {
	if c.platform.Owns(platform.KernelParameters) {
		return c.set(id, p)
	}

	if c.own(id) {
		return c.set(id, param{Value: p.Value, IgnoreErrors: true})
	}

	current, err := os.ReadFile(c.path(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		return runtime.KernelParamStatusSpec{}, fmt.Errorf("kernel parameter %s: %w", id, err)
	}

	return runtime.KernelParamStatusSpec{Current: strings.TrimSpace(string(current)), Unsupported: true}, nil
}

func (c *paramController) set(id string, p param) (runtime.KernelParamStatusSpec, error) {
	path := c.path(id)

	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && p.IgnoreErrors {
		return runtime.KernelParamStatusSpec{Unsupported: true}, nil
	}

	if err != nil {
		return runtime.KernelParamStatusSpec{}, fmt.Errorf("kernel parameter %s: %w: this kernel has no such parameter, or a module for it is not loaded (machine.kernel.modules)", id, err)
	}

	current := strings.TrimSpace(string(raw))
	if _, ok := c.original[id]; !ok {
		c.original[id] = current
	}

	status := runtime.KernelParamStatusSpec{Current: p.Value, Default: c.original[id]}
	if current == p.Value {
		return status, nil
	}

	if err := os.WriteFile(path, []byte(p.Value), 0); err != nil {
		if p.IgnoreErrors {
			return runtime.KernelParamStatusSpec{Current: current, Default: c.original[id], Unsupported: true}, nil
		}

		return status, fmt.Errorf("kernel parameter %s: set to %q: %w", id, p.Value, err)
	}

	return status, nil
}

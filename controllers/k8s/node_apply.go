// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/seed-59268b81/talos/controllers/k8s/nodeowner"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// nodeApplyController updates the own Node's labels, annotations, taints and schedulability.
func nodeApplyController(root string) controller.Controller {
	logged := map[string]string{} // the causes of settings that are not in effect, by id

	return &controller.Reconciler{
		ControllerName: "k8s.NodeApplyController",
		Reads: accessInputs(
			controller.In[k8s.NodeLabelSpecSpec](controller.Weak, ""),
			controller.In[k8s.NodeAnnotationSpecSpec](controller.Weak, ""),
			controller.In[k8s.NodeTaintSpecSpec](controller.Weak, ""),
			controller.In[k8s.NodeCordonedSpecSpec](controller.Weak, ""),
			controller.In[k8s.NodeStatusSpec](controller.Weak, ""),
			controller.In[k8s.NodenameSpec](controller.Weak, "", k8s.NodenameID),
		),
		Writes:  []controller.Output{controller.Out[runtime.SettingConditionSpec](controller.Shared)},
		Cleanup: []resource.Kind{resource.KindOf[runtime.SettingConditionSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			var (
				nodename k8s.NodenameSpec
				status   k8s.NodeStatusSpec
			)

			if f := typed.Read(ctx, rt, k8s.NodenameID, &nodename); f.Err != nil || !f.OK || nodename.SkipNodeRegistration {
				return f.Err
			}

			// Before the kubelet has registered the Node there is nothing to change.
			if f := typed.Read(ctx, rt, nodename.Nodename, &status); f.Err != nil || !f.OK {
				return f.Err
			}

			wanted, err := wantedOfNode(ctx, rt)
			if err != nil {
				return err
			}

			client, err := nodeClient(ctx, rt, root)
			if err != nil || client == nil {
				return err
			}
			defer client.Close()

			var machineType config.MachineTypeSpec
			if f := typed.Read(ctx, rt, config.MachineTypeID, &machineType); f.Err != nil {
				return f.Err
			}

			changed, refused, err := applyNode(ctx, client, nodename.Nodename, wanted, !machineType.MachineType.IsControlPlane())
			if changed {
				log.InfoContext(ctx, "the Node was changed", "node", nodename.Nodename)
			}

			if err != nil {
				return err
			}

			for id := range logged {
				if _, still := refused[id]; !still {
					delete(logged, id)
				}
			}

			for id, cause := range refused {
				if logged[id] != cause {
					log.WarnContext(ctx, "a setting of the Node is not in effect", "setting", id, "cause", cause)
				}

				logged[id] = cause

				if err := typed.Set(ctx, rt, "", id, runtime.SettingConditionSpec{Cause: cause}); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

func wantedOfNode(ctx context.Context, rt controller.Runtime) (nodeowner.Wanted, error) {
	wanted := nodeowner.Wanted{Labels: map[string]string{}, Annotations: map[string]string{}, Taints: map[string]nodeowner.Taint{}}

	labels, err1 := running[k8s.NodeLabelSpecSpec](ctx, rt)
	for _, label := range labels {
		wanted.Labels[label.Key] = label.Value
	}

	annotations, err2 := running[k8s.NodeAnnotationSpecSpec](ctx, rt)
	for _, annotation := range annotations {
		wanted.Annotations[annotation.Key] = annotation.Value
	}

	taints, err3 := running[k8s.NodeTaintSpecSpec](ctx, rt)
	for _, taint := range taints {
		wanted.Taints[taint.Key] = nodeowner.Taint{Value: taint.Value, Effect: taint.Effect}
	}

	cordoned, err4 := running[k8s.NodeCordonedSpecSpec](ctx, rt)
	wanted.Cordoned = len(cordoned) > 0

	return wanted, errors.Join(err1, err2, err3, err4)
}

// running lists the resources that are not being torn down.
func running[S resource.Spec](ctx context.Context, rt controller.Runtime) ([]S, error) {
	items, err := typed.List[S](ctx, rt, "")

	var out []S

	for _, item := range items {
		if item.Metadata().Phase() == resource.PhaseRunning {
			out = append(out, *item.TypedSpec())
		}
	}

	return out, err
}

// ofOthers are the parts of a Node that the admission plugin NodeRestriction keeps a kubelet from changing, and so a worker, which has the
// kubelet's identity: the id of the condition, and what an administrator does instead.
var ofOthers = map[nodeowner.Part]struct{ id, advice string }{
	nodeowner.Taints: {"node/taints", "taints of a worker have an effect only when its Node is registered; change those of the Node with kubectl taint nodes "},
	nodeowner.Restricted: {
		"node/labels", "Kubernetes does not let a worker set or remove these labels; change them with kubectl label nodes ",
	},
}

// applyNode changes all parts of the Node at once or, if a part is forbidden, one after the other, so that the permitted ones are changed. What
// a kubelet may not change is left as it is. The result has the causes, by the ids of conditions; such a change is refused each time, so it is
// not an error.
func applyNode(
	ctx context.Context, client *kube.Client, name string, wanted nodeowner.Wanted, kubelet bool,
) (changed bool, refused map[string]string, err error) {
	changed, err = applyParts(ctx, client, name, wanted, nodeowner.All...)
	if !kube.IsForbidden(err) {
		return changed, nil, err
	}

	refused = map[string]string{}

	var errs []error

	for _, part := range nodeowner.All {
		done, err := applyParts(ctx, client, name, wanted, part)
		changed = changed || done

		switch other, ok := ofOthers[part]; {
		case err == nil:
		case ok && kubelet && kube.IsForbidden(err):
			refused[other.id] = other.advice + name + ": " + err.Error()
		default:
			errs = append(errs, fmt.Errorf("%s: %w", part, err))
		}
	}

	return changed, refused, errors.Join(errs...)
}

// applyParts reads, changes and replaces the Node; it tries again when another client has changed the Node in between.
func applyParts(
	ctx context.Context, client *kube.Client, name string, wanted nodeowner.Wanted, parts ...nodeowner.Part,
) (changed bool, err error) {
	path := "/api/v1/nodes/" + url.PathEscape(name)

	for range 5 {
		var node kube.Object

		if node, err = client.Get(ctx, path); err != nil {
			return false, err
		}

		if !nodeowner.Apply(node, wanted, parts...) {
			return false, nil
		}

		if _, err = client.Replace(ctx, path, node); !kube.IsConflict(err) {
			return err == nil, err
		}
	}

	return false, fmt.Errorf("node %s keeps changing: %w", name, err)
}

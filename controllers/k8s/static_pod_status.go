// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// How often the kubelet is asked: it has no watch. Often while a pod is not ready, seldom when all are.
const (
	podPollNotReady = 5 * time.Second
	podPollReady    = 15 * time.Second
)

// staticPodStatusController publishes the status of static pods, as the kubelet of this node has it.
func staticPodStatusController(root string) controller.Controller {
	var poll *time.Timer

	return &controller.Reconciler{
		ControllerName: "k8s.KubeletStaticPodController",
		Reads: []controller.Input{
			controller.In[k8s.NodenameSpec](controller.Weak, "", k8s.NodenameID),
			controller.In[secrets.KubernetesDynamicCertsSpec](controller.Weak, "", secrets.KubernetesDynamicID),
			controller.In[secrets.KubernetesRootSpec](controller.Weak, "", secrets.KubernetesRootID),
			controller.In[k8s.KubeletSpecSpec](controller.Weak, "", k8s.KubeletID),
			serviceInput(KubeletServiceID),
		},
		Writes:  []controller.Output{controller.Out[k8s.StaticPodStatusSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.StaticPodStatusSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			var (
				nodename k8s.NodenameSpec
				certs    secrets.KubernetesDynamicCertsSpec
				ca       secrets.KubernetesRootSpec
				spec     k8s.KubeletSpecSpec
			)

			if poll != nil {
				poll.Stop()
			}

			ok, err := typed.All(
				typed.Read(ctx, rt, k8s.NodenameID, &nodename),
				typed.Read(ctx, rt, secrets.KubernetesDynamicID, &certs),
				typed.Read(ctx, rt, secrets.KubernetesRootID, &ca),
				typed.Read(ctx, rt, k8s.KubeletID, &spec),
			)
			if err != nil || !ok {
				return err
			}

			if up, err := serviceHealthy(ctx, rt, KubeletServiceID); err != nil || !up {
				return err
			}

			statuses, err := staticPodStatuses(ctx, root, nodename.Nodename, certs, ca, spec)
			if err != nil {
				// The kubelet asks the API server whether we may, which may be the very pod that is not ready.
				log.DebugContext(ctx, "the kubelet does not tell the status of static pods", "error", err)

				poll = time.AfterFunc(podPollNotReady, rt.QueueReconcile)

				return keepStatuses(ctx, rt)
			}

			interval := podPollReady

			for id, status := range statuses {
				if !podReady(status) {
					interval = podPollNotReady
				}

				if err := typed.Set(ctx, rt, "", id, k8s.StaticPodStatusSpec{PodStatus: status}); err != nil {
					return err
				}
			}

			if len(statuses) == 0 {
				interval = podPollNotReady
			}

			poll = time.AfterFunc(interval, rt.QueueReconcile)

			return nil
		},
	}
}

// keepStatuses writes what is there once more, so that it is not cleaned up.
func keepStatuses(ctx context.Context, rt controller.Runtime) error {
	held, err := typed.List[k8s.StaticPodStatusSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	for _, status := range held {
		if err := typed.Set(ctx, rt, "", status.Metadata().ID(), *status.TypedSpec()); err != nil {
			return err
		}
	}

	return nil
}

// staticPodStatuses asks the kubelet for its pods and picks those that come from its own list.
func staticPodStatuses(
	ctx context.Context, root, nodename string, certs secrets.KubernetesDynamicCertsSpec, ca secrets.KubernetesRootSpec, spec k8s.KubeletSpecSpec,
) (map[string]kube.Object, error) {
	trusted, err := kubeletServingCA(root, ca, spec)
	if err != nil {
		return nil, err
	}

	client, err := kube.New(kubeconfig.Config{
		Server: fmt.Sprintf("https://127.0.0.1:%d", kubelet.Port), TLSServerName: nodename, CA: trusted,
		Crt: certs.APIServerKubeletClient.Crt, Key: certs.APIServerKubeletClient.Key,
	})
	if err != nil {
		return nil, err
	}
	defer client.Close()

	list, err := client.Get(ctx, "/pods/")
	if err != nil {
		return nil, err
	}

	out := map[string]kube.Object{}

	items, _ := list["items"].([]any)
	for _, item := range items {
		pod, _ := item.(kube.Object)
		metadata, _ := pod["metadata"].(kube.Object)

		switch stringMap(metadata["annotations"])["kubernetes.io/config.source"] {
		case "http", "file":
		default:
			continue
		}

		_, _, namespace, name := kube.Identity(pod)
		if status, ok := pod["status"].(kube.Object); ok {
			out[namespace+"/"+name] = status
		}
	}

	return out, nil
}

// kubeletServingCA is what signed the certificate that the kubelet serves with: the cluster's authority, or itself if the
// configuration has it so.
func kubeletServingCA(root string, ca secrets.KubernetesRootSpec, spec k8s.KubeletSpecSpec) ([]byte, error) {
	if kubelet.ServesByCluster(spec) {
		return secrets.JoinCerts(ca.AcceptedCAs), nil
	}

	text, err := os.ReadFile(filepath.Join(root, kubelet.PKIDir, kubelet.SelfSignedCert))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the kubelet has no serving certificate yet")
	}

	return text, err
}

func podReady(status kube.Object) bool {
	conditions, _ := status["conditions"].([]any)

	for _, item := range conditions {
		condition, _ := item.(kube.Object)
		if condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}

	return false
}

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

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Intervals of requests to the kubelet, which has no watch: while a pod of the system ends, while a pod is not ready, and when all are. Etcd waits
// for the end of the API server when the machine leaves.
const (
	podPollEnding   = time.Second
	podPollNotReady = 5 * time.Second
	podPollReady    = 15 * time.Second
)

// staticPodStatusController publishes the status of static pods, as the kubelet of this node reports it.
func staticPodStatusController(root string) controller.Controller {
	var (
		nodename k8s.NodenameSpec
		certs    secrets.KubernetesDynamicCertsSpec
		ca       secrets.KubernetesRootSpec
		spec     k8s.KubeletSpecSpec
	)

	return frominputs.Controller[k8s.StaticPodStatusSpec]("k8s.KubeletStaticPodController", controller.Exclusive, frominputs.List{
		frominputs.Of(k8s.NodenameID, &nodename),
		frominputs.Of(secrets.KubernetesDynamicID, &certs),
		frominputs.Of(secrets.KubernetesRootID, &ca),
		frominputs.Of(k8s.KubeletID, &spec),
		healthy(KubeletServiceID),
		frominputs.Also(controller.In[k8s.StaticPodSpec](controller.Weak, "")),
	}, func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
		statuses, err := staticPodStatuses(ctx, root, nodename.Nodename, certs, ca, spec)
		if err != nil {
			// The kubelet asks the API server for authorization. That may be the very pod that is not ready.
			log.DebugContext(ctx, "the kubelet does not report the status of static pods", "error", err)

			return controller.RequeueWith(controller.ErrSkip, podPollNotReady)
		}

		interval := podPollReady
		if len(statuses) == 0 {
			interval = podPollNotReady
		}

		for id, status := range statuses {
			if !ready(status) {
				interval = podPollNotReady
			}

			if err := typed.Set(ctx, rt, "", id, k8s.StaticPodStatusSpec{PodStatus: status}); err != nil {
				return err
			}
		}

		for _, id := range []string{k8s.APIServerID, k8s.ControllerManagerID, k8s.SchedulerID} {
			pod, err := typed.Find[k8s.StaticPodSpec](ctx, rt, "", id)
			if err != nil {
				return err
			}

			if statuses[k8s.StaticPodStatusOf(id, nodename.Nodename)] != nil && pod == nil {
				interval = podPollEnding
			}
		}

		return controller.Requeue(interval)
	})
}

// staticPodStatuses returns the status of the kubelet's static pods, by namespace and name.
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

	for _, pod := range kube.Items(list, "items") {
		switch kube.At[string](pod, "metadata", "annotations", "kubernetes.io/config.source") {
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

// kubeletServingCA returns the authority of the kubelet's serving certificate: the cluster's, or the certificate itself if the configuration
// lets the kubelet sign its own.
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

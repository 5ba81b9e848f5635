// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/resources/service"
)

// checkKubernetes returns why what a node's configuration says about the authority of Kubernetes is not in effect yet. api is the API server.
func checkKubernetes(ctx context.Context, r state.Reader, api *kube.Client, m member) error {
	var (
		join    secrets.KubeletSpec
		kubelet service.ServiceSpec
		node    k8s.NodenameSpec
	)

	ok, err := typed.All(
		typed.Read(ctx, r, secrets.KubeletID, &join), typed.Read(ctx, r, "kubelet", &kubelet), typed.Read(ctx, r, k8s.NodenameID, &node),
	)

	switch {
	case err != nil:
		return err
	case !ok || !kubelet.Up():
		return errors.New("the kubelet does not run yet")
	case len(join.AcceptedCAs) == 0:
		return errors.New("the kubelet knows no authority")
	}

	if err := m.trust.is("the kubelet's authority", join.AcceptedCAs[0].Crt, join.AcceptedCAs); err != nil {
		return err
	}

	if err := checkKubelet(ctx, r, m); err != nil {
		return err
	}

	if m.controlPlane {
		if err := checkControlPlane(ctx, r, m); err != nil {
			return err
		}

		if err := checkStaticPods(ctx, r, api, node.Nodename); err != nil {
			return err
		}
	}

	registered, err := api.Node(ctx, node.Nodename)
	if err != nil {
		return err
	}

	return registered.Ready()
}

// checkKubelet checks the kubelet's own certificates. Those that the configuration sets have no status.
func checkKubelet(ctx context.Context, r state.Reader, m member) error {
	var status k8s.KubeletServingStatusSpec

	want := pki.Fingerprint(m.trust.issuing)

	switch f := typed.Read(ctx, r, k8s.KubeletID, &status); {
	case f.Err != nil || !f.OK:
		return f.Err
	case !status.Ready:
		return fmt.Errorf("the kubelet's serving certificate: %s", status.Reason)
	case status.Authority != want:
		return errors.New("the kubelet's serving certificate is not of the authority that signs now")
	case status.ClientAuthority != want:
		return errors.New("the kubelet's client certificate is not of the authority that signs now")
	default:
		return nil
	}
}

// checkControlPlane checks the certificates and kubeconfigs of a control plane.
func checkControlPlane(ctx context.Context, r state.Reader, m member) error {
	var (
		root    secrets.KubernetesRootSpec
		certs   secrets.KubernetesDynamicCertsSpec
		configs secrets.KubernetesCertsSpec
	)

	ok, err := typed.All(
		typed.Read(ctx, r, secrets.KubernetesRootID, &root),
		typed.Read(ctx, r, secrets.KubernetesDynamicID, &certs),
		typed.Read(ctx, r, secrets.KubernetesID, &configs),
	)
	if err != nil {
		return err
	}

	if !ok {
		return errors.New("the control plane has no certificates yet")
	}

	if err := errors.Join(
		m.trust.is("the control plane's authority", root.IssuingCA.Crt, root.AcceptedCAs),
		m.trust.signed("the API server's certificate", certs.APIServer.Crt, true),
		m.trust.signed("the API server's certificate for kubelets", certs.APIServerKubeletClient.Crt, false),
	); err != nil {
		return err
	}

	for _, c := range []struct{ of, text string }{
		{"controller manager", configs.ControllerManagerKubeconfig}, {"scheduler", configs.SchedulerKubeconfig},
	} {
		what := "the kubeconfig of the " + c.of

		config, err := kubeconfig.Parse([]byte(c.text))
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}

		if err := errors.Join(m.trust.signed(what, config.Crt, false), m.trust.acceptedBy(what, []secrets.Cert{{Crt: config.CA}})); err != nil {
			return err
		}
	}

	return nil
}

// checkStaticPods checks that the pods of a control plane are those that the node has rendered, and ready. The kubelet publishes them under
// their name and the node's.
func checkStaticPods(ctx context.Context, r state.Reader, api *kube.Client, node string) error {
	rendered, err := typed.List[k8s.StaticPodSpec](ctx, r, "")
	if err != nil {
		return err
	}

	for _, res := range rendered {
		_, _, namespace, name := kube.Identity(res.TypedSpec().Pod)

		if namespace != "kube-system" {
			continue // a pod of the configuration, which has nothing to do with authorities
		}

		running, err := api.Get(ctx, "/api/v1/namespaces/"+namespace+"/pods/"+url.PathEscape(name+"-"+node))
		if kube.IsNotFound(err) {
			return fmt.Errorf("pod %s-%s: the kubelet has not published it yet", name, node)
		}

		if err != nil {
			return err
		}

		has := kube.At[kube.Object](running, "metadata", "annotations")

		for key, want := range kube.At[kube.Object](res.TypedSpec().Pod, "metadata", "annotations") {
			if !reflect.DeepEqual(has[key], want) {
				return fmt.Errorf("pod %s-%s: the former one still runs", name, node)
			}
		}

		if !podReady(running) {
			return fmt.Errorf("pod %s-%s is not ready", name, node)
		}
	}

	return nil
}

func podReady(pod kube.Object) bool {
	for _, condition := range kube.Items(pod, "status", "conditions") {
		if condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}

	return false
}

// checkPublished checks the authorities that the controller manager gives to the pods of each namespace: those of its own control plane, which
// may be any of them. Their configurations differ while a step is in progress, and when an interrupted one continues.
func checkPublished(ctx context.Context, api *kube.Client, members []member) error {
	list, err := api.Get(ctx, "/api/v1/configmaps?fieldSelector="+url.QueryEscape("metadata.name=kube-root-ca.crt"))
	if err != nil {
		return err
	}

	items := kube.Items(list, "items")
	if len(items) == 0 {
		return errors.New("no namespace has the ConfigMap kube-root-ca.crt")
	}

	for _, item := range items {
		_, _, namespace, _ := kube.Identity(item)

		var certs []*x509.Certificate

		if certs, err = pki.ParseCertificates([]byte(kube.At[string](item, "data", "ca.crt"))); err != nil {
			return fmt.Errorf("ConfigMap %s/kube-root-ca.crt: %w", namespace, err)
		}

		if err := publishedBy(certs, members); err != nil {
			return fmt.Errorf("ConfigMap %s/kube-root-ca.crt %w", namespace, err)
		}
	}

	return nil
}

// publishedBy checks that authorities are those of a control plane.
func publishedBy(certs []*x509.Certificate, members []member) error {
	var want []string

	for _, m := range members {
		if !m.controlPlane {
			continue
		}

		if sameSet(certs, m.trust.all()) {
			return nil
		}

		if text := fmt.Sprint(fingerprints(m.trust.all())); !slices.Contains(want, text) {
			want = append(want, text)
		}
	}

	return fmt.Errorf("has the authorities %s, want %s", fingerprints(certs), strings.Join(want, " or "))
}

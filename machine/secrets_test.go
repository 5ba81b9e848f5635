// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	configsecrets "github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/controllers/apid"
	"github.com/seed-59268b81/talos/controllers/cluster"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/cri"
	"github.com/seed-59268b81/talos/controllers/etcd"
	"github.com/seed-59268b81/talos/controllers/k8s"
	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/block"
	crires "github.com/seed-59268b81/talos/resources/cri"
	etcdres "github.com/seed-59268b81/talos/resources/etcd"
	k8sres "github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// placed are values that an operator may keep secret, with their place in the configuration.
const placed = `
machine:
  env: {TOKEN: marked-machine-env}
  baseRuntimeSpecOverrides: {process: {env: [TOKEN=marked-runtime-spec-env]}}
cluster:
  apiServer:
    env: {TOKEN: marked-apiserver-env}
    admissionControl:
      - name: ImagePolicyWebhook
        configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: ImagePolicyWebhookConfiguration, token: marked-admission}
  controllerManager: {env: {TOKEN: marked-controller-manager-env}}
  scheduler: {env: {TOKEN: marked-scheduler-env}}
  extraManifests: ["https://user:marked-url@127.0.0.1:1/manifest.yaml"]
  extraManifestHeaders: {Authorization: marked-header}
  inlineManifests:
    - name: secret
      contents: "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}, stringData: {a: marked-inline}}"
`

// secretValues are all values that a reader must not see, by name.
func secretValues(b *configsecrets.Bundle) map[string]string {
	values := map[string]string{
		"cluster.secret":                    b.Cluster.Secret,
		"secrets.bootstraptoken":            b.Secrets.BootstrapToken,
		"secrets.bootstraptoken, 2nd half":  b.Secrets.BootstrapToken[strings.Index(b.Secrets.BootstrapToken, ".")+1:],
		"secrets.aescbcencryptionsecret":    b.Secrets.AESCBCSecret,
		"secrets.secretboxencryptionsecret": b.Secrets.SecretboxSecret,
		"trustdinfo.token":                  b.Trustd.Token,
		"certs.etcd.key":                    string(b.Certs.Etcd.Key),
		"certs.k8s.key":                     string(b.Certs.Kubernetes.Key),
		"certs.k8saggregator.key":           string(b.Certs.Aggregator.Key),
		"certs.k8sserviceaccount.key":       string(b.Certs.ServiceAccount.Key),
		"certs.os.key":                      string(b.Certs.OS.Key),
		"any private key":                   "PRIVATE KEY",
		"what is placed":                    "marked-",
	}

	// All encodings of a value.
	for name, value := range maps.Clone(values) {
		values[name+", base64"] = strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "=")

		if block, _ := pem.Decode([]byte(value)); block != nil {
			values[name+", DER"] = string(block.Bytes)
			values[name+", body"] = base64.StdEncoding.EncodeToString(block.Bytes)
			values[name+", hex"] = hex.EncodeToString(block.Bytes)
		}
	}

	maps.DeleteFunc(values, func(_, value string) bool { return len(value) < 6 })

	return values
}

// TestReadersSeeNoSecret runs the controllers on a configuration, and searches everything that a reader can read for its secrets.
func TestReadersSeeNoSecret(t *testing.T) {
	bundle, err := configsecrets.New()
	if err != nil {
		t.Fatal(err)
	}

	patches, err := patch.Load([]string{placed})
	if err != nil {
		t.Fatal(err)
	}

	sup, root := &controllertest.Supervisor{}, t.TempDir()

	// Without an etcd, the test says that the machine has a member.
	member := slices.DeleteFunc(etcd.Controllers(etcd.Deps{Supervisor: sup, Root: root}), func(c controller.Controller) bool {
		return c.Name() == "etcd.MembershipController"
	})

	n := controllertest.Start(t, slices.Concat(
		secrets.Controllers(), cluster.Controllers(cluster.System), member, k8s.Controllers(k8s.Deps{Supervisor: sup, Root: root}),
		[]controller.Controller{
			apid.ConfigController(), cri.CustomizationConfigController(), cri.RegistriesConfigController(), cri.RuntimeSpecConfigController(),
		},
	)...)
	if err := registerDefinitions(t.Context(), n.State); err != nil {
		t.Fatal(err)
	}

	cfg := n.Ready(generate.Options{Secrets: bundle, Patches: patches})
	controllertest.Set(n, runtime.KernelCmdlineID, runtime.KernelCmdlineSpec{Cmdline: "talos.config.inline=" + base64.StdEncoding.EncodeToString(cfg.Bytes())})

	for _, id := range []string{"etcd-EPHEMERAL", "kubelet-EPHEMERAL"} {
		controllertest.Set(n, id, block.VolumeMountStatusSpec{VolumeID: block.VolumeEphemeral, Target: "/var"})
	}

	n.Service("etcd", true)
	controllertest.Set(n, etcdres.MembershipID, etcdres.MembershipStatusSpec{Intent: etcdres.IntentNone, Step: etcdres.StepMember})

	// The other resources need an API server; those that pods are generated from exist.
	controllertest.Wait[k8sres.StaticPodSpec](n, "kube-apiserver", nil)
	controllertest.Wait[k8sres.ControllerManagerConfigSpec](n, k8sres.FinalPrefix+k8sres.ControllerManagerID, nil)
	controllertest.Wait[k8sres.SchedulerConfigSpec](n, k8sres.FinalPrefix+k8sres.SchedulerID, nil)

	controllertest.Wait[k8sres.ManifestSpec](n, "00-kubelet-bootstrapping-token", nil)
	controllertest.Wait(n, crires.BaseRuntimeSpecID, func(s crires.BaseRuntimeSpecConfigSpec) bool { return s.Object["process"] != nil })
	controllertest.Wait(n, k8sres.ExtraManifestsID, func(s k8sres.ExtraManifestsConfigSpec) bool { return len(s.ExtraManifests) > 1 })

	values := secretValues(bundle)
	seen, hits, hidden := 0, 0, map[string]bool{}

	for _, r := range everything(t, n.State) {
		found := within(r.text, values)
		if !r.readable {
			for _, name := range found {
				hidden[name] = true
			}

			continue
		}

		seen++
		hits += len(found)

		for _, name := range found {
			t.Errorf("a reader sees %s in %s", name, r.name)
		}
	}

	t.Logf("%d secrets in %d forms, searched in %d resources that os:reader sees: %d hits (%d forms in those that it does not see)",
		len(values)/2, len(values), seen, hits, len(hidden))

	// The search finds the secrets in sensitive resources.
	for _, name := range []string{"certs.os.key", "secrets.bootstraptoken, 2nd half", "trustdinfo.token", "what is placed", "secrets.secretboxencryptionsecret"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(hidden)), func(h string) bool { return strings.HasPrefix(h, name) }) {
			t.Errorf("%s is in no resource: the search proves nothing", name)
		}
	}
}

// encoded is one resource in all encodings of the API.
type encoded struct {
	name     string
	text     []byte
	readable bool
}

// everything returns what an administrator can read, and whether a reader can too.
func everything(t *testing.T, st state.State) []encoded {
	t.Helper()

	states := cosiapi.NewStateClient(serveState(t, st))
	as := func(role string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "talos-role", role)
	}

	definitions, err := st.List(t.Context(), resource.KindOf[meta.ResourceDefinitionSpec](meta.NamespaceName))
	if err != nil {
		t.Fatal(err)
	}

	namespaces, err := st.List(t.Context(), resource.KindOf[meta.NamespaceSpec](meta.NamespaceName))
	if err != nil {
		t.Fatal(err)
	}

	var all []encoded

	for _, r := range definitions {
		def := r.Spec().(*meta.ResourceDefinitionSpec) // as listed

		for _, namespace := range namespaces {
			request := &cosiapi.ListRequest{Namespace: namespace.Metadata().ID(), Type: def.Type}

			byReader, err := states.List(as(contract.RoleReader), request)
			if err == nil {
				_, err = byReader.Recv()
			}

			readable := status.Code(err) != codes.PermissionDenied

			list, err := states.List(as(contract.RoleAdmin), request)
			if err != nil {
				t.Fatal(err)
			}

			for {
				m, err := list.Recv()
				if errors.Is(err, io.EOF) {
					break
				}

				if err != nil {
					t.Fatal(err)
				}

				text := append([]byte(m.GetResource().GetSpec().GetYamlSpec()+"\n"), m.GetResource().GetSpec().GetProtoSpec()...)
				all = append(all, encoded{m.GetResource().GetMetadata().GetType() + "/" + m.GetResource().GetMetadata().GetId(), append(text, m.String()...), readable})
			}
		}
	}

	return all
}

// within returns the names of the values that are in a text.
func within(text []byte, values map[string]string) (names []string) {
	for name, value := range values {
		if bytes.Contains(text, []byte(value)) {
			names = append(names, name)
		}
	}

	slices.Sort(names)

	return names
}

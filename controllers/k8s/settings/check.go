// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/controllers/k8s/pods"
	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/controllers/k8s/schemas"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Check does with a configuration what the controllers would do with it. It returns the settings that they could not apply, or that the programs
// would refuse.
func Check(cfg *view.Config) []validate.Finding {
	c := &check{cfg: cfg}
	c.kubelet()
	c.staticPods()

	if cfg.Type().IsControlPlane() {
		c.apiServer()
		c.controllerManager()
		c.scheduler()
		c.manifests()
	}

	return c.problems
}

type check struct {
	cfg      *view.Config
	problems []validate.Finding
}

func (c *check) wrong(path, format string, args ...any) {
	c.problems = append(c.problems, validate.Finding{Path: path, Text: fmt.Sprintf(format, args...)})
}

// failed adds an error, or each of the errors that were joined to it.
func (c *check) failed(path string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // joined, not wrapped
		for _, each := range joined.Unwrap() {
			c.failed(path, each)
		}

		return
	}

	if err == nil {
		return
	}

	// Some errors name their setting already.
	if at, text, found := strings.Cut(err.Error(), ": "); found && (at == path || strings.HasPrefix(at, path+".")) {
		c.wrong(at, "%s", text)
	} else {
		c.wrong(path, "%s", err)
	}
}

func (c *check) object(path, kind string, object view.Object) {
	for _, problem := range schemas.Check(kind, object, schemas.RefuseUnknown) {
		c.wrong(path+"."+problem.Path, "%s", problem.Text)
	}
}

// pod checks a pod that is rendered from the settings at a path.
func (c *check) pod(path string, pod render.Object) {
	for _, problem := range pods.Check(pod) {
		c.wrong(path, "its pod would not run: %s: %s", problem.Path, problem.Text)
	}
}

// containerResources checks the resources of a container in a manifest.
func (c *check) containerResources(at string, given view.Resources) {
	container := render.Object{"name": "a", "image": "a", "resources": pods.Resources(nil, resources(given))}

	for _, problem := range pods.Check(render.Object{
		"apiVersion": "v1", "kind": "Pod", "metadata": render.Object{"name": "a"}, "spec": render.Object{"containers": []any{container}},
	}) {
		_, path, _ := strings.Cut(problem.Path, ".resources.")
		c.wrong(at+"."+path, "%s", problem.Text)
	}
}

func (c *check) kubelet() {
	const at = "machine.kubelet"

	settings := Kubelet(c.cfg)

	_, err := kubelet.Spec(settings, kubelet.Node{
		Name: "node", IPs: []netip.Addr{netip.IPv4Unspecified()}, ControlPlane: c.cfg.Type().IsControlPlane(), Platform: platform.Platform{},
	})
	c.failed(at, err)

	c.object(at+".extraConfig", schemas.KubeletConfiguration, c.cfg.Kubelet().ExtraConfig)

	mounted := map[string]bool{}
	defer func() { c.credentialProviders(mounted) }()

	for i, mount := range c.cfg.Kubelet().ExtraMounts {
		if mounted[mount.Destination] {
			c.wrong(fmt.Sprintf("%s.extraMounts[%d].destination", at, i), "%q is used twice", mount.Destination)
		}

		mounted[mount.Destination] = true
	}
}

// credentialProviders checks the plugins that provide credentials for registries. The kubelet does not start without their programs, which are
// not part of the system.
func (c *check) credentialProviders(mounted map[string]bool) {
	const at = "machine.kubelet.credentialProviderConfig"

	providers := c.cfg.Kubelet().CredentialProvider
	if len(providers) == 0 {
		return
	}

	c.object(at, schemas.CredentialProviderConfig, providers)

	if !mounted[kubelet.CredentialProviderDir] {
		c.wrong(at, "the kubelet does not start without the providers' programs: mount a folder with them at %s (machine.kubelet.extraMounts)",
			kubelet.CredentialProviderDir)
	}
}

// controlPlanePods are the ids of the system's own pods.
var controlPlanePods = []string{k8s.APIServerID, k8s.ControllerManagerID, k8s.SchedulerID}

func (c *check) staticPods() {
	ids := map[string]bool{}

	for i, pod := range c.cfg.StaticPods() {
		at := fmt.Sprintf("machine.pods[%d]", i)

		for _, problem := range pods.Check(pod) {
			c.wrong(at+"."+problem.Path, "%s", problem.Text)
		}

		id, err := StaticPodID(pod)

		switch {
		case err != nil: // pods.Check has found it
		case slices.Contains(controlPlanePods, id) || controlPlaneName(pod):
			c.wrong(at+".metadata.name", "the pod would replace a pod of the control plane: choose another name")
		case ids[id]:
			c.wrong(at+".metadata.name", "another pod of machine.pods has this name")
		}

		ids[id] = true
	}
}

// controlPlaneName reports whether a pod has the name of a pod of the control plane.
func controlPlaneName(pod view.Object) bool {
	_, _, namespace, name := kube.Identity(pod)

	return namespace == "kube-system" && slices.Contains([]string{pods.APIServer, pods.ControllerManager, pods.Scheduler}, name)
}

func (c *check) apiServer() {
	const at = "cluster.apiServer"

	tokens := c.cfg.ServiceAccounts()

	var err error

	spec := APIServer(c.cfg)
	spec.Args, err = pods.APIServerArgs(*spec, secrets.KubernetesRootSpec{
		IssuerURL: tokens.Issuer, AcceptedIssuers: tokens.AcceptedIssuers, APIAudiences: tokens.Audiences,
	})
	c.failed(at+".extraArgs", err)
	c.pod(at, pods.APIServerPod(*spec, pods.Versions{}))
	c.authentication()
	c.etcdEncryption()

	if policy := c.cfg.APIServer().AuditPolicy; policy["apiVersion"] == "audit.k8s.io/v1" {
		c.object(at+".auditPolicy", schemas.AuditPolicy, policy)
	}

	authorization := Authorization(c.cfg)

	object := pods.AuthorizationConfiguration(*authorization)
	for _, problem := range schemas.Check(schemas.AuthorizationConfiguration, object, schemas.RefuseUnknown) {
		c.wrong(at+".authorizationConfig", "%s: %s", problem.Path, problem.Text)
	}

	_, err = pods.ConfigFolders(pods.Configs{
		Admission: *AdmissionControl(c.cfg), Audit: *AuditPolicy(c.cfg), Authentication: *Authentication(c.cfg), Authorization: *authorization,
		Scheduler: *Scheduler(c.cfg),
	})
	c.failed(at, err)
}

func (c *check) controllerManager() {
	const at = "cluster.controllerManager"

	var err error

	spec := ControllerManager(c.cfg)
	spec.Args, err = pods.ControllerManagerArgs(*spec)
	c.failed(at+".extraArgs", err)
	c.pod(at, pods.ControllerManagerPod(*spec, pods.Versions{}))
}

func (c *check) scheduler() {
	const at = "cluster.scheduler"

	var err error

	spec := Scheduler(c.cfg)
	spec.Args, err = pods.SchedulerArgs(*spec)
	c.failed(at+".extraArgs", err)
	c.pod(at, pods.SchedulerPod(*spec, pods.Versions{}))

	scheduler, _ := c.cfg.Scheduler()

	config := scheduler.Config
	if version := config["apiVersion"]; version == nil || version == "kubescheduler.config.k8s.io/v1" {
		c.object(at+".config", schemas.KubeSchedulerConfiguration, config)
	}
}

func (c *check) manifests() {
	boot, err := BootstrapManifests(c.cfg, platform.Platform{})
	c.failed("cluster.proxy.extraArgs", err)

	if err == nil {
		_, err = manifests.Builtin(*boot, secrets.KubernetesRootSpec{})
		c.failed("cluster", err)
	}

	extra, err := ExtraManifests(c.cfg)
	c.failed("cluster.inlineManifests", err)

	c.proxyConfiguration()
	c.containerResources("KubeProxyConfig.resources", c.cfg.ProxyResources())
	c.containerResources("KubeFlannelCNIConfig.resources", c.cfg.Flannel().Resources)

	if err != nil {
		return
	}

	for _, manifest := range extra.ExtraManifests {
		if manifest.InlineManifest == "" {
			continue
		}

		if _, err := manifests.Extra(manifest, []byte(manifest.InlineManifest)); err != nil {
			c.wrong("cluster.inlineManifests", "%s", errors.Unwrap(err))
		}
	}
}

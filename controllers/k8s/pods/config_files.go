// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"maps"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/folder"
)

// Configs are the settings that the components' configuration files are rendered from.
type Configs struct {
	Admission      k8s.AdmissionControlConfigSpec
	Audit          k8s.AuditPolicyConfigSpec
	Authentication k8s.AuthenticationConfigSpec
	Authorization  k8s.AuthorizationConfigSpec
	Scheduler      k8s.SchedulerConfigSpec
}

// ConfigFolders returns the configuration files of the components.
func ConfigFolders(c Configs) ([]folder.Folder, error) {
	scheduler := maps.Clone(c.Scheduler.Config)
	if scheduler == nil {
		scheduler = render.Object{}
	}

	for key, value := range (render.Object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}) {
		if _, ok := scheduler[key]; !ok {
			scheduler[key] = value
		}
	}

	// Whatever the configuration says, the scheduler connects to this node's API server with its own kubeconfig.
	connection, _ := scheduler["clientConnection"].(render.Object)
	if connection = maps.Clone(connection); connection == nil {
		connection = render.Object{}
	}

	connection["kubeconfig"] = secret(Scheduler, "kubeconfig")
	scheduler["clientConnection"] = connection

	apiServer, err := objects(map[string]render.Object{
		"admission-control-config.yaml": admissionConfiguration(c.Admission),
		"auditpolicy.yaml":              c.Audit.Config,
		"authentication-config.yaml":    c.Authentication.Config,
		"authorization-config.yaml":     AuthorizationConfiguration(c.Authorization),
	})
	if err != nil {
		return nil, err
	}

	schedulerFiles, err := objects(map[string]render.Object{"scheduler-config.yaml": scheduler})
	if err != nil {
		return nil, err
	}

	return []folder.Folder{
		{Path: ConfigDir(APIServer), UID: layout.UserAPIServer, Files: apiServer},
		{Path: ConfigDir(Scheduler), UID: layout.UserScheduler, Files: schedulerFiles},
	}, nil
}

func admissionConfiguration(c k8s.AdmissionControlConfigSpec) render.Object {
	plugins := make([]any, 0, len(c.Config))

	for _, plugin := range c.Config {
		plugins = append(plugins, render.Object{"name": plugin.Name, "configuration": plugin.Configuration})
	}

	return render.Object{
		"apiVersion": "apiserver.config.k8s.io/v1",
		"kind":       "AdmissionConfiguration",
		"plugins":    plugins,
	}
}

// AuthorizationConfiguration returns the file with the chain of authorizers.
func AuthorizationConfiguration(c k8s.AuthorizationConfigSpec) render.Object {
	authorizers := make([]any, 0, len(c.Config))

	for _, a := range c.Config {
		authorizer := render.Object{"type": a.Type, "name": a.Name}
		if a.Webhook != nil {
			authorizer["webhook"] = a.Webhook
		}

		authorizers = append(authorizers, authorizer)
	}

	return render.Object{
		"apiVersion":  "apiserver.config.k8s.io/v1",
		"kind":        "AuthorizationConfiguration",
		"authorizers": authorizers,
	}
}

func objects(files map[string]render.Object) (map[string]folder.File, error) {
	out := make(map[string]folder.File, len(files))

	for name, object := range files {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("control plane configuration %s: %w", name, err)
		}

		out[name] = folder.Private(text)
	}

	return out, nil
}

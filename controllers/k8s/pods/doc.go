// SPDX-License-Identifier: Apache-2.0

// Package pods renders the control plane's static pods: the command line of each component, the files it reads,
// and the Pod itself. It is pure: resource specs in, strings and objects out.
//
// A pod carries the versions of its settings, secrets and configuration files as annotations. The kubelet derives
// the identity of a static pod from its text, so that another version rolls the pod, and nothing else does.
package pods

import "github.com/seed-59268b81/talos/layout"

// Names of the components, as of their pods and containers.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// Where the files of a component are on the node, in a folder of its name, and inside its container alike.
const (
	SecretsRoot = layout.KubernetesSecretsDir
	ConfigRoot  = layout.KubernetesConfigDir
	AuditDir    = layout.AuditDir
)

// Ports on loopback where the two controllers serve their health.
const (
	controllerManagerPort = 10257
	schedulerPort         = 10259
)

// SecretsDir is the folder of a component's keys.
func SecretsDir(component string) string { return SecretsRoot + "/" + component }

// ConfigDir is the folder of a component's configuration files.
func ConfigDir(component string) string { return ConfigRoot + "/" + component }

func secret(component, file string) string { return SecretsDir(component) + "/" + file }

func config(component, file string) string { return ConfigDir(component) + "/" + file }

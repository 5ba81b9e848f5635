// SPDX-License-Identifier: Apache-2.0

// Package pods renders the control plane's static pods: the command line of each component, the files that it reads,
// and the Pod itself. It is pure: resource specs in, strings and objects out.
//
// A pod has the versions of its settings, secrets and configuration files as annotations. The kubelet derives the identity of a static pod
// from its text, so a pod is replaced when one of these versions changes, and only then. The version of the secrets leaves out the files that
// the component reads again by itself: a new address of the machine changes the API server's certificate, and must not restart it.
package pods

import "github.com/seed-59268b81/talos/layout"

// Names of the components, their pods and their containers.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// Where the files of a component are, in a folder of its name, on the node and in its container.
const (
	SecretsRoot = layout.KubernetesSecretsDir
	ConfigRoot  = layout.KubernetesConfigDir
	AuditDir    = layout.AuditDir
)

// Ports on loopback where the controller manager and the scheduler serve their health.
const (
	controllerManagerPort = 10257
	schedulerPort         = 10259
)

// SecretsDir returns the folder of a component's keys.
func SecretsDir(component string) string { return SecretsRoot + "/" + component }

// ConfigDir returns the folder of a component's configuration files.
func ConfigDir(component string) string { return ConfigRoot + "/" + component }

func secret(component, file string) string { return SecretsDir(component) + "/" + file }

func config(component, file string) string { return ConfigDir(component) + "/" + file }

// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"github.com/seed-59268b81/talos/controllers/k8s/render"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// APIServerPod returns the pod of kube-apiserver. The settings are the final ones, with the command line.
func APIServerPod(cfg k8s.APIServerConfigSpec, v Versions) render.Object {
	probes := render.Object{}

	// Without structured authentication the API server refuses probes, which have no certificate.
	if cfg.UseAuthenticationConfig {
		probes["readinessProbe"] = render.Object{
			"httpGet": httpsGet("/readyz", cfg.LocalPort), "periodSeconds": 5, "timeoutSeconds": 15, "failureThreshold": 3,
		}
		probes["livenessProbe"] = render.Object{
			"httpGet": httpsGet("/livez", cfg.LocalPort), "initialDelaySeconds": 10, "periodSeconds": 10, "timeoutSeconds": 15, "failureThreshold": 8,
		}

		if cfg.StartupProbesEnabled {
			probes["startupProbe"] = render.Object{
				"httpGet": httpsGet("/livez", cfg.LocalPort), "periodSeconds": 5, "timeoutSeconds": 15, "failureThreshold": 100,
			}
		}
	}

	pod := component{
		name: APIServer, binary: "/usr/local/bin/kube-apiserver", image: cfg.Image, args: cfg.Args, uid: layout.UserAPIServer,
		capabilities: []any{"NET_BIND_SERVICE"}, env: cfg.EnvironmentVariables, podIP: true,
		volumes: folders(APIServer, true, cfg.ExtraVolumes,
			k8s.ExtraVolume{Name: "audit", HostPath: AuditDir, MountPath: AuditDir}),
		resources: cfg.Resources,
		requests:  render.Object{"cpu": "200m", "memory": "512Mi"},
		probes:    probes,
	}.pod(v)

	if minorOf(cfg.Image) < reloadsKubeletCA {
		kube.At[render.Object](pod, "metadata", "annotations")["talos.dev/kubelet-ca-version"] = v.KubeletCA
	}

	return pod
}

// reloadsKubeletCA is the first minor version whose API server reads the authorities of kubelets again when they change.
const reloadsKubeletCA = 36

// ControllerManagerPod returns the pod of kube-controller-manager.
func ControllerManagerPod(cfg k8s.ControllerManagerConfigSpec, v Versions) render.Object {
	return component{
		name: ControllerManager, binary: "/usr/local/bin/kube-controller-manager", image: cfg.Image, args: cfg.Args,
		uid: layout.UserControllerManager, capabilities: []any{}, env: cfg.EnvironmentVariables,
		volumes:   folders(ControllerManager, false, cfg.ExtraVolumes),
		resources: cfg.Resources,
		requests:  render.Object{"cpu": "50m", "memory": "256Mi"},
		probes:    healthz(controllerManagerPort),
	}.pod(v)
}

// SchedulerPod returns the pod of kube-scheduler.
func SchedulerPod(cfg k8s.SchedulerConfigSpec, v Versions) render.Object {
	return component{
		name: Scheduler, binary: "/usr/local/bin/kube-scheduler", image: cfg.Image, args: cfg.Args,
		uid: layout.UserScheduler, capabilities: []any{}, env: cfg.EnvironmentVariables,
		volumes:   folders(Scheduler, true, cfg.ExtraVolumes),
		resources: cfg.Resources,
		requests:  render.Object{"cpu": "10m", "memory": "64Mi"},
		probes:    healthz(schedulerPort),
	}.pod(v)
}

func healthz(port int) render.Object {
	return render.Object{
		"startupProbe": render.Object{
			"httpGet": httpsGet("/healthz", port), "periodSeconds": 5, "timeoutSeconds": 15, "failureThreshold": 48,
		},
		"livenessProbe": render.Object{
			"httpGet": httpsGet("/healthz", port), "periodSeconds": 10, "timeoutSeconds": 15, "failureThreshold": 8,
		},
	}
}

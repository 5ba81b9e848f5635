// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-59268b81/talos/resources/runtime"
)

// starters are the controllers that add services to the machine, which is not in the graph of controllers. Other services, such as
// apid, exist from the start.
var starters = map[string]string{
	"etcd":       "etcd.ServiceController",
	"kubelet":    "k8s.KubeletServiceController",
	"cri":        "cri.ContainerdController",
	"trustd":     "runtime.TrustdServiceController",
	"discoveryd": "discovery.ServiceController",
	"udevd":      "runtime.UdevServiceController",
}

var (
	pulling    = regexp.MustCompile(`pull image (\S+?): (.*)`)
	dependency = regexp.MustCompile(`service "([^"]+)" to be up`)
)

// serviceRule explains a service that is not up, by its state and events.
func serviceRule(f *Facts, s Symptom) *Finding {
	service := f.service(s.ID)

	switch {
	case service == nil && len(f.Services) == 0:
		return nil // services could not be listed
	case service == nil:
		finding := &Finding{Says: "service " + s.ID + " is not started yet", Vague: true}
		if starter, known := starters[s.ID]; known {
			finding.Because = []Symptom{{Kind: Controller, ID: starter}}
		}

		return finding
	case service.up():
		return f.outdated(s.ID).finding("service " + s.ID)
	}

	// A failing service changes its state again and again: its failure is among the events since it was last started.
	for i := len(service.Messages) - 1; i >= 0 && !strings.HasPrefix(service.Messages[i], "Started"); i-- {
		if m := pulling.FindStringSubmatch(service.Messages[i]); m != nil {
			finding := &Finding{
				Says:     fmt.Sprintf("the image of service %s cannot be pulled: %s", s.ID, m[1]),
				Evidence: []string{"service " + s.ID + ": " + m[2]},
				Try:      "correct the image in the machine configuration (" + imageField(s.ID) + "), or let the machine reach its registry",
				Because:  unreachable(m[2]),
			}
			describe(finding, m[2])

			return finding
		}
	}

	return stateFinding(service)
}

func stateFinding(s *Service) *Finding {
	finding := &Finding{
		Says:     fmt.Sprintf("service %s is %s", s.ID, strings.ToLower(s.State)),
		Evidence: []string{"service " + s.ID + ": " + s.last()},
		Try:      "see its log: talosctl logs " + s.ID,
	}

	for _, m := range dependency.FindAllStringSubmatch(s.last(), -1) {
		if s.State == "Waiting" {
			finding.Because = append(finding.Because, Symptom{Kind: ServiceOf, ID: m[1]})
			finding.Says = fmt.Sprintf("service %s waits for service %s", s.ID, m[1])
		}
	}

	if s.State == "Failed" {
		finding.Says = "service " + s.ID + " has failed"
	}

	if strings.Contains(s.last(), "talosctl bootstrap") {
		finding.Says = "etcd has no data: the cluster was never started, or this node has not joined it"
		finding.Try = "for a new cluster, once, on one control plane: talosctl bootstrap --nodes ADDRESS"
	}

	if s.State == "Running" {
		finding.Says = fmt.Sprintf("service %s runs, but is not healthy", s.ID)
		finding.Evidence = []string{"health of service " + s.ID + ": " + s.Health}
	}

	if n := len(s.Log); n > 0 {
		finding.Evidence = append(finding.Evidence, "log of "+s.ID+": "+s.Log[n-1])
	}

	switch s.ID {
	case "etcd":
		finding.Because = append(finding.Because, Symptom{Kind: Quorum})
	case "kubelet":
		finding.Because = append(finding.Because, Symptom{Kind: Endpoint})
	case "apid": // listens when its configuration exists
		finding.Because = append(finding.Because, Symptom{Kind: Endpoint},
			instance[runtime.APIServiceConfigSpec](runtime.NamespaceName, runtime.APIServiceConfigID))
	}

	return finding
}

// imageField returns the configuration field of the image of a service or static pod.
func imageField(id string) string {
	return cmp.Or(map[string]string{
		"kubelet":                 "machine.kubelet.image",
		"etcd":                    "cluster.etcd.image",
		"kube-apiserver":          "cluster.apiServer.image",
		"kube-controller-manager": "cluster.controllerManager.image",
		"kube-scheduler":          "cluster.scheduler.image",
	}[id], "the image of "+id)
}

// unreachable returns the symptoms that a connection error points to.
func unreachable(text string) []Symptom {
	switch {
	case strings.Contains(text, "network is unreachable"), strings.Contains(text, "no route to host"):
		return []Symptom{{Kind: Route}}
	case strings.Contains(text, "no such host"), strings.Contains(text, "server misbehaving"), strings.Contains(text, "lookup "):
		return []Symptom{{Kind: Route}, {Kind: Names}}
	case strings.Contains(text, "i/o timeout"), strings.Contains(text, "deadline exceeded"):
		return []Symptom{{Kind: Route}}
	default:
		return nil
	}
}

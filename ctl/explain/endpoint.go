// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// What programs say when they do not get through to another, or to the wrong one.
var (
	dialFailure = regexp.MustCompile(`connection refused|no such host|server misbehaving|i/o timeout|no route to host|network is unreachable|` +
		`tls: [^"]*|context deadline exceeded|Client\.Timeout exceeded|connection reset by peer|EOF`)
	wrongCertificate = regexp.MustCompile(`x509: [^"]*`)
)

// What KubePrism says in machined's log of an API server whose state has changed.
const (
	apiServer        = "an API server "
	apiServerAnswers = apiServer + "answers"
)

// endpointRule: the control plane's endpoint, as the configuration names it, does not answer.
func endpointRule(f *Facts, s Symptom) *Finding {
	endpoint, ok := clusterEndpoint(f)
	if !ok {
		return nil
	}

	failure, evidence := endpointFailure(f, endpoint)
	if failure == "" {
		return nil
	}

	finding := &Finding{
		Says: fmt.Sprintf("the cluster's endpoint https://%s does not answer: %s", endpoint.address(), failure),
		Evidence: append([]string{
			name(typeOf[k8s.KubePrismEndpointsSpec](), k8s.NamespaceName, k8s.KubePrismEndpointsID) + ": " + endpoint.address(),
		}, evidence...),
		Try: "if that is not where the control plane is, correct cluster.controlPlane.endpoint in the machine configuration; " +
			"if it is, see to the load balancer or control plane behind it",
	}

	if strings.HasPrefix(failure, "x509") || strings.HasPrefix(failure, "tls") {
		finding.Says = fmt.Sprintf("whoever answers at the cluster's endpoint https://%s is not this cluster: %s", endpoint.address(), failure)
	}

	own, _ := find[network.NodeAddressSpec](f, network.NodeAddressCurrentID)
	isOwn := slices.ContainsFunc(own.IPs(), func(a netip.Addr) bool { return a.String() == endpoint.Host })

	if !isOwn {
		finding.Because = unreachable(failure)
	}

	// An endpoint that leads to this machine is down because of what runs here.
	if isOwn || f.controlPlane() {
		finding.Because = append(finding.Because,
			Symptom{Kind: ServiceOf, ID: "etcd"}, Symptom{Kind: Quorum}, Symptom{Kind: PodOf, ID: "kube-apiserver"})
	}

	return finding
}

type apiEndpoint struct{ k8s.KubePrismEndpoint }

func (e apiEndpoint) address() string {
	return net.JoinHostPort(e.Host, strconv.FormatUint(uint64(e.Port), 10))
}

// clusterEndpoint is the first that is not this machine's own API server: what the API servers publish comes after it.
func clusterEndpoint(f *Facts) (apiEndpoint, bool) {
	known, _ := find[k8s.KubePrismEndpointsSpec](f, k8s.KubePrismEndpointsID)

	for _, e := range known.Endpoints {
		if e.Host != "127.0.0.1" {
			return apiEndpoint{e}, true
		}
	}

	return apiEndpoint{}, false
}

// endpointFailure is why nobody gets through to the endpoint, with who said so: one line of each.
func endpointFailure(f *Facts, endpoint apiEndpoint) (failure string, evidence []string) {
	heard := map[string]bool{}

	for _, s := range f.sayings() {
		if heard[s.by] || !mentions(s.text, endpoint.Host) {
			continue
		}

		// Of much else that machined says, such as of the time, an address is a part.
		if s.by == "log of "+machined && !strings.Contains(s.text, apiServer) {
			continue
		}

		if strings.Contains(s.text, apiServerAnswers) { // what was said before is the past
			heard[s.by] = true

			continue
		}

		why := wrongCertificate.FindString(s.text)
		if why == "" {
			why = dialFailure.FindString(s.text)
		}

		if why == "" {
			continue
		}

		heard[s.by] = true
		evidence = append(evidence, s.by+": "+s.text)

		if failure == "" {
			failure = strings.TrimSpace(why)
		}
	}

	status, ok := find[k8s.KubePrismStatusesSpec](f, k8s.KubePrismStatusID)
	if !ok || status.Healthy {
		return failure, evidence
	}

	evidence = append(evidence, name(typeOf[k8s.KubePrismStatusesSpec](), k8s.NamespaceName, k8s.KubePrismStatusID)+": healthy is false: no API server answers")

	if failure == "" {
		failure = "no connection"
	}

	return failure, evidence
}

// unanswered is the failure of the endpoint as KubePrism noted it last; "" if it answered, or there is no note.
func (f *Facts) unanswered(endpoint apiEndpoint) string {
	s := f.service(machined)
	if s == nil {
		return ""
	}

	for _, line := range slices.Backward(s.Log) {
		if strings.Contains(line, apiServer) && mentions(line, endpoint.Host) {
			if strings.Contains(line, apiServerAnswers) {
				return ""
			}

			return dialFailure.FindString(line)
		}
	}

	return ""
}

// mentions reports whether a text names the host, and not only another one that ends or begins like it. A dot behind it may end a
// sentence.
func mentions(text, host string) bool {
	const begins, ends = `(?:^|[^-.0-9A-Za-z])`, `(?:$|[^-0-9A-Za-z])`

	return host != "" && regexp.MustCompile(begins+regexp.QuoteMeta(host)+ends).MatchString(text)
}

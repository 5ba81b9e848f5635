// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
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

// The messages of programs that cannot connect to a server, or connect to the wrong one.
var (
	dialFailure = regexp.MustCompile(`connection refused|no such host|server misbehaving|i/o timeout|no route to host|network is unreachable|` +
		`tls: [^"]*|context deadline exceeded|Client\.Timeout exceeded|connection reset by peer|EOF`)
	wrongCertificate = regexp.MustCompile(`x509: [^"]*`)
)

// The messages of KubePrism in machined's log about an API server whose state has changed.
const (
	apiServer        = "an API server "
	apiServerAnswers = apiServer + "answers"
	apiServerUnused  = apiServer + "is not used any more"
)

// isOver reports whether older messages about an API server no longer hold.
func isOver(text string) bool {
	return strings.Contains(text, apiServerAnswers) || strings.Contains(text, apiServerUnused)
}

// endpointRule explains a control plane endpoint that does not answer.
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
			"if it is, check the load balancer or control plane behind it",
	}

	if strings.HasPrefix(failure, "x509") || strings.HasPrefix(failure, "tls") {
		finding.Says = fmt.Sprintf("the server at the cluster's endpoint https://%s is not this cluster: %s", endpoint.address(), failure)
	}

	own, _ := find[network.NodeAddressSpec](f, network.NodeAddressCurrentID)
	isOwn := slices.ContainsFunc(own.IPs(), func(a netip.Addr) bool { return a.String() == endpoint.Host })

	if !isOwn {
		finding.Because = unreachable(failure)
	}

	// If the endpoint leads to this machine, the cause may be here.
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

// clusterEndpoint returns the first endpoint that is not this machine's own API server. The endpoints that the API servers publish follow
// it.
func clusterEndpoint(f *Facts) (apiEndpoint, bool) {
	known, _ := find[k8s.KubePrismEndpointsSpec](f, k8s.KubePrismEndpointsID)

	for _, e := range known.Endpoints {
		if e.Host != "127.0.0.1" {
			return apiEndpoint{e}, true
		}
	}

	return apiEndpoint{}, false
}

// endpointFailure returns why programs cannot connect to the endpoint. The evidence is one line of each program.
func endpointFailure(f *Facts, endpoint apiEndpoint) (failure string, evidence []string) {
	seen := map[string]bool{}

	for _, s := range f.messages() {
		if seen[s.by] || !mentions(s.text, endpoint.Host) {
			continue
		}

		// Other messages of machined, such as those about the time, may have the address too.
		if s.by == "log of "+machined && !strings.Contains(s.text, apiServer) {
			continue
		}

		if isOver(s.text) {
			seen[s.by] = true

			continue
		}

		why := cmp.Or(wrongCertificate.FindString(s.text), dialFailure.FindString(s.text))
		if why == "" {
			continue
		}

		seen[s.by] = true
		evidence = append(evidence, s.by+": "+s.text)
		failure = cmp.Or(failure, strings.TrimSpace(why))
	}

	status, ok := find[k8s.KubePrismStatusesSpec](f, k8s.KubePrismStatusID)
	if !ok || status.Healthy {
		return failure, evidence
	}

	evidence = append(evidence, name(typeOf[k8s.KubePrismStatusesSpec](), k8s.NamespaceName, k8s.KubePrismStatusID)+": healthy is false: no API server answers")

	return cmp.Or(failure, "no connection"), evidence
}

// unanswered returns the last failure of the endpoint that KubePrism logged, or "" if the endpoint answered since.
func (f *Facts) unanswered(endpoint apiEndpoint) string {
	s := f.service(machined)
	if s == nil {
		return ""
	}

	for _, line := range slices.Backward(s.Log) {
		if strings.Contains(line, apiServer) && mentions(line, endpoint.Host) {
			if isOver(line) {
				return ""
			}

			return dialFailure.FindString(line)
		}
	}

	return ""
}

// mentions reports whether a text has the host, not as a part of another host. A dot after it may end a sentence.
func mentions(text, host string) bool {
	const begins, ends = `(?:^|[^-.0-9A-Za-z])`, `(?:$|[^-0-9A-Za-z])`

	return host != "" && regexp.MustCompile(begins+regexp.QuoteMeta(host)+ends).MatchString(text)
}

// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"

	"github.com/distribution/reference"
)

// pullFault is a reason for which no image can be pulled from a registry, with the texts that name it in errors of the machine and of
// containerd, and what to do.
type pullFault struct {
	texts     []string
	says, try string
}

// pullFaults are in the order in which the steps of a pull fail: a later one is reached only if those before it do not. What is refused by a rule
// is known only when all of them have succeeded, or were not tried.
var pullFaults = []pullFault{
	{
		[]string{"the image is refused: "},
		"the rules about images refuse it",
		"sign the image with the key of the rule, or correct ImageVerificationConfig; see talosctl image verify",
	},
	{
		[]string{"proxyconnect tcp", "the proxy does not answer"},
		"the proxy does not answer",
		"start the proxy, correct it in the machine configuration (EnvironmentConfig, or machine.env), or except the registry there: no_proxy",
	},
	{
		[]string{"the proxy refuses the connection", "Proxy Authentication Required",
			// net/http reports only the text of a proxy's status, and that of a registry with its number.
			`": Forbidden`, `": Bad Gateway`, `": Service Unavailable`, `": Gateway Timeout`},
		"the proxy does not let it through",
		"correct the proxy in the machine configuration (EnvironmentConfig, or machine.env), or except the registry there: no_proxy",
	},
	{
		[]string{"certificate signed by unknown authority", "authority that is not trusted"},
		"the registry's certificate is from an authority that the machine does not trust",
		"add the authority to the machine configuration: ca in a RegistryTLSConfig for this registry, or a TrustedRootsConfig",
	},
	{
		[]string{"its certificate is not valid", "x509: certificate is", "x509: certificate has expired", "x509: cannot validate certificate"},
		"the registry's certificate has expired, or is not for this name",
		"have the registry serve a certificate for the name in the URL, or correct the clock of the machine",
	},
	{
		[]string{"tls: certificate required", "tls: bad certificate", "tls: unknown certificate authority"},
		"the registry wants another certificate of the machine",
		"correct clientIdentity in the RegistryTLSConfig of this registry, or machine.registries.config",
	},
	{
		[]string{"authentication failed", "401 Unauthorized", "403 Forbidden", "authorization failed", "pull access denied"},
		"the registry refuses the login",
		"correct the RegistryAuthConfig of this registry, or machine.registries.config; its name is the host that answers",
	},
}

// describe adds the reason for which an image cannot be pulled to a finding, and reports whether the text of the error names one.
func describe(finding *Finding, text string) bool {
	for _, fault := range pullFaults {
		for _, t := range fault.texts {
			if strings.Contains(text, t) {
				finding.Says += ": " + fault.says
				finding.Try = fault.try

				return true
			}
		}
	}

	return false
}

// describePod does the same for an image of a pod. containerd reports the answer of the image cache, that it does not have the image, rather
// than that a registry cannot be reached: this is in its log only.
func (f *Facts) describePod(finding *Finding, image, message string) {
	cri := f.service(runtimeService)

	named, err := reference.ParseDockerRef(image)
	if describe(finding, message) || cri == nil || err != nil {
		return
	}

	for _, line := range slices.Backward(cri.Log) {
		if strings.Contains(line, "/"+reference.Path(named)+"/manifests/") && describe(finding, line) {
			finding.Evidence = append(finding.Evidence, "log of "+runtimeService+": "+line)

			return
		}
	}
}

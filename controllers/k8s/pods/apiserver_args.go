// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/args"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Minor versions since which a file replaces flags.
const (
	authorizationConfigSince  = 32
	authenticationConfigSince = 34
)

// apiServerPolicy denies what the node depends on: the address of etcd, the authorities and the keys.
var apiServerPolicy = args.Policy{
	"enable-admission-plugins": args.Additive,
	"feature-gates":            args.Additive,
	"authorization-mode":       args.Additive,

	"etcd-servers":                       args.Denied,
	"etcd-cafile":                        args.Denied,
	"etcd-certfile":                      args.Denied,
	"etcd-keyfile":                       args.Denied,
	"client-ca-file":                     args.Denied,
	"tls-cert-file":                      args.Denied,
	"tls-private-key-file":               args.Denied,
	"kubelet-client-certificate":         args.Denied,
	"kubelet-client-key":                 args.Denied,
	"proxy-client-cert-file":             args.Denied,
	"proxy-client-key-file":              args.Denied,
	"requestheader-client-ca-file":       args.Denied,
	"requestheader-allowed-names":        args.Denied,
	"requestheader-extra-headers-prefix": args.Denied,
	"requestheader-group-headers":        args.Denied,
	"requestheader-username-headers":     args.Denied,
	"service-account-key-file":           args.Denied,
	"service-account-signing-key-file":   args.Denied,
	"encryption-provider-config":         args.Denied,
	"admission-control-config-file":      args.Denied,
	"audit-policy-file":                  args.Denied,
	"authorization-config":               args.Denied,
	"authentication-config":              args.Denied,
	"secure-port":                        args.Denied,
}

// UseAuthenticationConfig reports whether the API server uses structured authentication.
func UseAuthenticationConfig(image string, extra k8s.Args) bool {
	return minorOf(image) >= authenticationConfigSince && len(AuthenticationFlags(extra)) == 0
}

// AuthenticationFlags returns the extra arguments that exclude structured authentication.
func AuthenticationFlags(extra k8s.Args) []string {
	return withPrefix(extra, "anonymous-auth", "oidc-")
}

func useAuthorizationConfig(image string, extra k8s.Args) bool {
	return minorOf(image) >= authorizationConfigSince &&
		len(withPrefix(extra, "authorization-mode", "authorization-policy-file", "authorization-webhook-")) == 0
}

// withPrefix returns the flags with one of these prefixes.
func withPrefix(extra k8s.Args, prefixes ...string) (out []string) {
	for _, flag := range slices.Sorted(maps.Keys(extra)) {
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(flag, prefix) }) {
			out = append(out, flag)
		}
	}

	return out
}

// APIServerArgs returns the command line of kube-apiserver.
func APIServerArgs(cfg k8s.APIServerConfigSpec, root secrets.KubernetesRootSpec) ([]string, error) {
	const c = APIServer

	wanted := args.Set{
		"admission-control-config-file":      {config(c, "admission-control-config.yaml")},
		"advertise-address":                  {cfg.AdvertisedAddress},
		"allow-privileged":                   {"true"},
		"api-audiences":                      {strings.Join(root.APIAudiences, ",")},
		"audit-log-maxage":                   {"30"},
		"audit-log-maxbackup":                {"10"},
		"audit-log-maxsize":                  {"100"},
		"audit-log-path":                     {AuditDir + "/kube-apiserver.log"},
		"audit-policy-file":                  {config(c, "auditpolicy.yaml")},
		"bind-address":                       {"0.0.0.0"},
		"client-ca-file":                     {secret(c, "ca.crt")},
		"enable-admission-plugins":           {"NodeRestriction"},
		"enable-bootstrap-token-auth":        {"true"},
		"encryption-provider-config":         {secret(c, "encryptionconfig.yaml")},
		"etcd-cafile":                        {secret(c, "etcd-client-ca.crt")},
		"etcd-certfile":                      {secret(c, "etcd-client.crt")},
		"etcd-keyfile":                       {secret(c, "etcd-client.key")},
		"etcd-servers":                       {strings.Join(cfg.EtcdServers, ",")},
		"kubelet-certificate-authority":      {secret(c, KubeletCA)},
		"kubelet-client-certificate":         {secret(c, "apiserver-kubelet-client.crt")},
		"kubelet-client-key":                 {secret(c, "apiserver-kubelet-client.key")},
		"kubelet-preferred-address-types":    {"InternalIP,ExternalIP,Hostname"},
		"profiling":                          {"false"},
		"proxy-client-cert-file":             {secret(c, "front-proxy-client.crt")},
		"proxy-client-key-file":              {secret(c, "front-proxy-client.key")},
		"requestheader-allowed-names":        {secrets.FrontProxyName},
		"requestheader-client-ca-file":       {secret(c, "aggregator-ca.crt")},
		"requestheader-extra-headers-prefix": {"X-Remote-Extra-"},
		"requestheader-group-headers":        {"X-Remote-Group"},
		"requestheader-username-headers":     {"X-Remote-User"},
		"secure-port":                        {strconv.Itoa(cfg.LocalPort)},
		"service-account-issuer":             append([]string{root.IssuerURL}, root.AcceptedIssuers...),
		"service-account-key-file":           {secret(c, "service-account.pub")},
		"service-account-signing-key-file":   {secret(c, "service-account.key")},
		"service-cluster-ip-range":           {strings.Join(cfg.ServiceCIDRs, ",")},
		// Otherwise open watches delay its exit for the whole grace period, in which it accepts no requests.
		"shutdown-watch-termination-grace-period": {"10s"},
		"tls-cert-file":        {secret(c, "apiserver.crt")},
		"tls-min-version":      {"VersionTLS13"},
		"tls-private-key-file": {secret(c, "apiserver.key")},
	}

	if cfg.UseAuthenticationConfig {
		wanted["authentication-config"] = []string{config(c, "authentication-config.yaml")}
	} else {
		wanted["anonymous-auth"] = []string{"false"}
	}

	if useAuthorizationConfig(cfg.Image, cfg.ExtraArgs) {
		wanted["authorization-config"] = []string{config(c, "authorization-config.yaml")}
	} else {
		wanted["authorization-mode"] = []string{"Node,RBAC"}
	}

	return args.Merge(c, cfg.Image, wanted, args.Of(cfg.ExtraArgs), apiServerPolicy)
}

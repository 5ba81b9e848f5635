// SPDX-License-Identifier: Apache-2.0

package network

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Register registers the types of the domain.
func Register() error {
	return errors.Join(
		resource.Register[AddressSpecSpec](),
		resource.Register[AddressStatusSpec](),
		resource.Register[DNSResolveCacheSpec](),
		resource.Register[DNSUpstreamSpec](),
		resource.Register[EthernetSpecSpec](),
		resource.Register[EthernetStatusSpec](),
		resource.Register[HardwareAddrSpec](),
		resource.Register[HostDNSConfigSpec](),
		resource.Register[HostnameSpecSpec](),
		resource.Register[HostnameStatusSpec](),
		resource.Register[LinkAliasSpecSpec](),
		resource.Register[LinkSpecSpec](),
		resource.Register[LinkStatusSpec](),
		resource.Register[NfTablesChainSpec](),
		resource.Register[NodeAddressFilterSpec](),
		resource.Register[NodeAddressSortAlgorithmSpec](),
		resource.Register[NodeAddressSpec](),
		resource.Register[OperatorSpecSpec](),
		resource.Register[PlatformConfigSpec](),
		resource.Register[ProbeSpecSpec](),
		resource.Register[ProbeStatusSpec](),
		resource.Register[ResolverSpecSpec](),
		resource.Register[ResolverStatusSpec](),
		resource.Register[RouteSpecSpec](),
		resource.Register[RouteStatusSpec](),
		resource.Register[RoutingRuleSpecSpec](),
		resource.Register[RoutingRuleStatusSpec](),
		resource.Register[SpecConditionSpec](),
		resource.Register[StaticHostSpec](),
		resource.Register[StatusSpec](),
		resource.Register[TimeServerSpecSpec](),
		resource.Register[TimeServerStatusSpec](),
	)
}

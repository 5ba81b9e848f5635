// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the whole system in virtual machines and containers: it boots, configures and uses what was built, as
// users do, and cuts the power. Without a build the tests are skipped; make e2e builds first.
//
// # The network on a real kernel
//
// Each of these is applied by documents, observed, and removed: in a network namespace where the kernel of every host has the feature, in a
// container, or in a virtual machine (TestNode). TestNetworkCases of test/house checks that the tests exist.
//
//	static host             test/e2e             TestDocuments/files and names
//	dummy                   test/e2e             TestNode/makes and removes a bond with VLANs and a VRF
//	link                    controllers/network  TestRealLinkConfig
//	alias                   controllers/network  TestRealLinkConfig
//	virtual IP              controllers/network  TestRealVIP
//	VLAN                    test/e2e             TestNode/makes and removes a bond with VLANs and a VRF
//	bond                    test/e2e             TestNode/makes and removes a bond with VLANs and a VRF
//	bond, primary           test/e2e             TestNode/makes and removes a bond with VLANs and a VRF
//	bridge                  controllers/network  TestRealDocuments
//	VRF                     test/e2e             TestNode/makes and removes a bond with VLANs and a VRF
//	veth                    controllers/network  TestRealDocuments
//	WireGuard               test/e2e             TestNode/makes and removes a bond with VLANs and a VRF
//	blackhole route         controllers/network  TestRealDocuments
//	rule, source            controllers/network  TestRealRoutingRules
//	rule, destination       controllers/network  TestRealRoutingRules
//	rule, links             controllers/network  TestRealRoutingRules
//	rule, mark              controllers/network  TestRealRoutingRules
//	rule, action            controllers/network  TestRealRoutingRules
//	ethernet                test/e2e             TestNode/sets its network card up
//	ethernet, bridge        controllers/network  TestRealBridgeAddress
//	firewall, kubelet       test/e2e             TestDocuments/the firewall
//	firewall, NodePort      controllers/network  TestRealNodePorts
//	probe, TCP              controllers/network  TestRealProbes
//	probe, HTTP             controllers/network  TestRealProbes
//	probe, several          controllers/network  TestRealProbes
//	probe, readiness        test/e2e             TestDocuments/a probe
//	udev                    test/e2e             TestNode/links its disks and follows udev rules
package e2e

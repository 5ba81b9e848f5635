// SPDX-License-Identifier: Apache-2.0

// A cloud controller manager of a cloud that has nothing but machines: Kubernetes' own program for clouds outside of its tree, with a provider
// that knows each Node by its name. Tests use it for what clusters of all clouds have in common: a Node is not used before the manager has seen
// it, and gets its provider ID, addresses, instance type, zone and region from it.
package main

import (
	"context"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
)

// name is that of the cloud, and the scheme of its provider IDs.
const name = "lab"

func main() {
	cloudprovider.RegisterCloudProvider(name, func(io.Reader) (cloudprovider.Interface, error) { return cloud{}, nil })

	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		klog.Fatal(err)
	}

	opts.KubeCloudShared.CloudProvider.Name = name

	os.Exit(cli.Run(app.NewCloudControllerManagerCommand(
		opts, initialize, app.DefaultInitFuncConstructors, names.CCMControllerAliases(), flag.NamedFlagSets{}, wait.NeverStop,
	)))
}

func initialize(c *config.CompletedConfig) cloudprovider.Interface {
	provider, err := cloudprovider.InitCloudProvider(c.ComponentConfig.KubeCloudShared.CloudProvider.Name, "")
	if err != nil {
		klog.Fatal(err)
	}

	return provider
}

// cloud has machines only.
type cloud struct{}

func (cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (cloud) ProviderName() string                                              { return name }
func (cloud) HasClusterID() bool                                                { return true }
func (cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool)                  { return nil, false }
func (cloud) Instances() (cloudprovider.Instances, bool)                        { return nil, false }
func (cloud) Zones() (cloudprovider.Zones, bool)                                { return nil, false }
func (cloud) Clusters() (cloudprovider.Clusters, bool)                          { return nil, false }
func (cloud) Routes() (cloudprovider.Routes, bool)                              { return nil, false }
func (cloud) InstancesV2() (cloudprovider.InstancesV2, bool)                    { return cloud{}, true }

// InstanceExists implements cloudprovider.InstancesV2.
func (cloud) InstanceExists(context.Context, *v1.Node) (bool, error) { return true, nil }

// InstanceShutdown implements cloudprovider.InstancesV2.
func (cloud) InstanceShutdown(context.Context, *v1.Node) (bool, error) { return false, nil }

// InstanceMetadata implements cloudprovider.InstancesV2. The addresses are those that the kubelet has reported.
func (cloud) InstanceMetadata(_ context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	addresses := []v1.NodeAddress{{Type: v1.NodeHostName, Address: node.Name}}

	for _, address := range node.Status.Addresses {
		if address.Type == v1.NodeInternalIP {
			addresses = append(addresses, address)
		}
	}

	if provided := node.Annotations["alpha.kubernetes.io/provided-node-ip"]; len(addresses) == 1 && provided != "" {
		addresses = append(addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: provided})
	}

	return &cloudprovider.InstanceMetadata{
		ProviderID: name + "://" + node.Name, InstanceType: "machine", NodeAddresses: addresses, Zone: "lab-a", Region: "lab",
	}, nil
}

// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Register makes the domain's types known to this process.
func Register() error {
	return errors.Join(
		resource.Register[AdmissionControlConfigSpec](),
		resource.Register[APIServerConfigSpec](),
		resource.Register[AuditPolicyConfigSpec](),
		resource.Register[AuthenticationConfigSpec](),
		resource.Register[AuthorizationConfigSpec](),
		resource.Register[BootstrapManifestsConfigSpec](),
		resource.Register[ConfigStatusSpec](),
		resource.Register[ControllerManagerConfigSpec](),
		resource.Register[EndpointSpec](),
		resource.Register[EtcdEncryptionConfigSpec](),
		resource.Register[ExtraManifestsConfigSpec](),
		resource.Register[KubeletConfigSpec](),
		resource.Register[KubeletKubeconfigSpec](),
		resource.Register[KubeletServingRequestSpec](),
		resource.Register[KubeletServingStatusSpec](),
		resource.Register[KubeletSpecSpec](),
		resource.Register[KubeletStatusSpec](),
		resource.Register[KubePrismConfigSpec](),
		resource.Register[KubePrismEndpointsSpec](),
		resource.Register[KubePrismStatusesSpec](),
		resource.Register[ManifestSpec](),
		resource.Register[ManifestStatusSpec](),
		resource.Register[NodeAnnotationSpecSpec](),
		resource.Register[NodeCordonedSpecSpec](),
		resource.Register[NodeIPSpec](),
		resource.Register[NodeIdentitySpec](),
		resource.Register[NodeIPConfigSpec](),
		resource.Register[NodeLabelSpecSpec](),
		resource.Register[NodeStatusSpec](),
		resource.Register[NodeTaintSpecSpec](),
		resource.Register[NodenameSpec](),
		resource.Register[SchedulerConfigSpec](),
		resource.Register[SecretsStatusSpec](),
		resource.Register[StaticPodSpec](),
		resource.Register[StaticPodServerStatusSpec](),
		resource.Register[StaticPodStatusSpec](),
	)
}

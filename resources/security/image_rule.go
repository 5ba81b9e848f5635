// SPDX-License-Identifier: Apache-2.0

package security

import "github.com/seed-59268b81/talos/cosi/resource"

var imageVerificationRuleDefinition = domain.Type(
	"ImageVerificationRules", "Image pattern={.imagePattern}", "Skip={.skip}", "Deny={.deny}", "Public key={.publicKeyVerifier.certificate}",
)

// ImageVerificationRuleSpec says what is asked of the images whose names match a pattern. The rules are in the order of their ids; the first that
// matches an image decides.
type ImageVerificationRuleSpec struct {
	ImagePattern string `yaml:"imagePattern" protobuf:"2"`
	// Skip allows the images without a signature, and Deny refuses them.
	Skip bool `yaml:"skip" protobuf:"3"`
	Deny bool `yaml:"deny" protobuf:"4"`
	// KeylessVerifier is never set: configurations with such rules are refused.
	KeylessVerifier *ImageKeylessVerifierSpec `yaml:"keylessVerifier,omitempty" protobuf:"5"`
	// PublicKeyVerifier is the key that must have signed the images.
	PublicKeyVerifier *ImagePublicKeyVerifierSpec `yaml:"publicKeyVerifier,omitempty" protobuf:"6"`
}

// Definition implements resource.Spec.
func (ImageVerificationRuleSpec) Definition() *resource.Definition {
	return imageVerificationRuleDefinition
}

// ImageKeylessVerifierSpec is an identity whose signatures count.
type ImageKeylessVerifierSpec struct {
	Issuer       string `yaml:"issuer" protobuf:"1"`
	Subject      string `yaml:"subject,omitempty" protobuf:"2"`
	SubjectRegex string `yaml:"subjectRegex,omitempty" protobuf:"3"`
}

// ImagePublicKeyVerifierSpec is a key whose signatures count.
type ImagePublicKeyVerifierSpec struct {
	// Certificate is the public key, or its certificate, in PEM.
	Certificate string `yaml:"certificate" protobuf:"1"`
}

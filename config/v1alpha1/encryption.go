// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// SystemEncryption encrypts the system's own partitions.
type SystemEncryption struct {
	State     *Encryption `yaml:"state,omitempty"`
	Ephemeral *Encryption `yaml:"ephemeral,omitempty"`
}

// Encryption configures the encryption of one partition.
type Encryption struct {
	Provider  string          `yaml:"provider"`
	Keys      []EncryptionKey `yaml:"keys"`
	Cipher    string          `yaml:"cipher,omitempty"`
	KeySize   uint            `yaml:"keySize,omitempty"`
	BlockSize uint64          `yaml:"blockSize,omitempty"`
	Options   []string        `yaml:"options,omitempty"`
}

// EncryptionKey is one key slot. Exactly one source of the key is set.
type EncryptionKey struct {
	Static      *EncryptionStatic `yaml:"static,omitempty"`
	NodeID      *EncryptionNodeID `yaml:"nodeID,omitempty"`
	KMS         *EncryptionKMS    `yaml:"kms,omitempty"`
	Slot        int               `yaml:"slot"`
	TPM         *EncryptionTPM    `yaml:"tpm,omitempty"`
	LockToState *bool             `yaml:"lockToState,omitempty"`
}

// EncryptionStatic is a passphrase in plain text.
type EncryptionStatic struct {
	Passphrase string `yaml:"passphrase,omitempty"`
}

// EncryptionNodeID derives the key from the machine's identity.
type EncryptionNodeID struct{}

// EncryptionKMS gets the key from a key management service.
type EncryptionKMS struct {
	Endpoint string `yaml:"endpoint"`
}

// EncryptionTPM seals the key to the TPM.
type EncryptionTPM struct {
	CheckSecureBoot *bool          `yaml:"checkSecurebootStatusOnEnroll,omitempty"`
	Options         *TPMKeyOptions `yaml:"options,omitempty"`
}

// TPMKeyOptions select the registers that the key is bound to.
type TPMKeyOptions struct {
	PCRs []int `yaml:"pcrs,omitempty"`
}

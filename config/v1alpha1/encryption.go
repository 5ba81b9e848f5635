// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// SystemEncryption encrypts the system's own partitions.
type SystemEncryption struct {
	// The encryption of STATE, which has the configuration.
	State *Encryption `yaml:"state,omitempty" protects:"true"`
	// The encryption of EPHEMERAL, which has /var.
	Ephemeral *Encryption `yaml:"ephemeral,omitempty" protects:"true"`
}

// Encryption configures the encryption of one partition.
type Encryption struct {
	// The format: luks2.
	Provider string `yaml:"provider"`
	// The keys: each opens the partition.
	Keys []EncryptionKey `yaml:"keys"`
	// The cipher, as cryptsetup(8) names it.
	Cipher string `yaml:"cipher,omitempty"`
	// The size of the key, in bits.
	KeySize uint `yaml:"keySize,omitempty"`
	// The size of a block, in bytes.
	BlockSize uint64 `yaml:"blockSize,omitempty"`
	// Options of the kernel for speed: no_read_workqueue, no_write_workqueue, same_cpu_crypt.
	Options []string `yaml:"options,omitempty"`
}

// EncryptionKey is one key slot. Exactly one source of the key is set.
type EncryptionKey struct {
	// A passphrase in this document.
	Static *EncryptionStatic `yaml:"static,omitempty"`
	// A key that is derived from the identity of the machine. It protects a disk that is sold, and no more.
	NodeID *EncryptionNodeID `yaml:"nodeID,omitempty"`
	// A key that a server keeps.
	KMS *EncryptionKMS `yaml:"kms,omitempty"`
	// The slot of the key.
	Slot int `yaml:"slot"`
	// A key that the machine's security chip keeps.
	TPM *EncryptionTPM `yaml:"tpm,omitempty"`
	// Whether the key also depends on a secret on STATE, so that it is lost with STATE.
	LockToState *bool `yaml:"lockToState,omitempty"`
}

// EncryptionStatic is a passphrase in plain text.
type EncryptionStatic struct {
	// The passphrase.
	Passphrase string `yaml:"passphrase,omitempty"`
}

// EncryptionNodeID derives the key from the machine's identity.
type EncryptionNodeID struct{}

// EncryptionKMS gets the key from a key management service.
type EncryptionKMS struct {
	// The URL of the server.
	Endpoint string `yaml:"endpoint"`
}

// EncryptionTPM seals the key to the TPM.
type EncryptionTPM struct {
	// Whether the key is only stored on a machine with Secure Boot.
	CheckSecureBoot *bool `yaml:"checkSecurebootStatusOnEnroll,omitempty"`
	// What the key is bound to.
	Options *TPMKeyOptions `yaml:"options,omitempty"`
}

// TPMKeyOptions select the registers that the key is bound to.
type TPMKeyOptions struct {
	// The numbers of the registers (PCRs) that must have the same values when the key is read.
	PCRs []int `yaml:"pcrs,omitempty"`
}

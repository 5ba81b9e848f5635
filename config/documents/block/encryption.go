// SPDX-License-Identifier: Apache-2.0

package block

import (
	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// Encryption is how a volume is encrypted.
type Encryption struct {
	// The format.
	Provider EncryptionProvider `yaml:"provider" required:"true"`
	// The keys: each opens the volume.
	Keys []EncryptionKey `yaml:"keys" required:"true"`
	// The cipher, as cryptsetup(8) names it.
	Cipher string `yaml:"cipher,omitempty"`
	// The size of the key, in bits.
	KeySize uint32 `yaml:"keySize,omitempty"`
	// The size of a block, in bytes.
	BlockSize uint64 `yaml:"blockSize,omitempty"`
	// Options of the kernel for speed.
	Options []EncryptionOption `yaml:"options,omitempty"`
	// Whether the disk learns which blocks are not used. Who has the disk then sees which these are.
	AllowDiscards *bool `yaml:"allowDiscards,omitempty"`
}

// EncryptionProvider is a format of encrypted volumes.
type EncryptionProvider string

// EncryptionLUKS2 is LUKS, version 2.
const EncryptionLUKS2 EncryptionProvider = "luks2"

// Values implements document.Enum.
func (EncryptionProvider) Values() []string { return document.EnumOf(EncryptionLUKS2) }

// EncryptionOption is an option of the kernel (dm-crypt).
type EncryptionOption string

// The options.
const (
	EncryptionNoReadWorkqueue  EncryptionOption = "no_read_workqueue"
	EncryptionNoWriteWorkqueue EncryptionOption = "no_write_workqueue"
	EncryptionSameCPU          EncryptionOption = "same_cpu_crypt"
)

// Values implements document.Enum.
func (EncryptionOption) Values() []string {
	return document.EnumOf(EncryptionNoReadWorkqueue, EncryptionNoWriteWorkqueue, EncryptionSameCPU)
}

// EncryptionKey is a key of an encrypted volume, in one of its slots. It is one of static, nodeID, kms and tpm.
type EncryptionKey struct {
	// The slot.
	Slot int `yaml:"slot" range:"0,31"`
	// A passphrase in this document.
	Static *StaticKey `yaml:"static,omitempty"`
	// A key that is derived from the identity of the machine. It protects a disk that is sold, and no more.
	NodeID *NodeIDKey `yaml:"nodeID,omitempty"`
	// A key that a server keeps.
	KMS *KMSKey `yaml:"kms,omitempty"`
	// A key that the machine's security chip keeps.
	TPM *TPMKey `yaml:"tpm,omitempty"`
	// Whether the key also depends on a secret on STATE, so that it is lost with STATE.
	LockToState bool `yaml:"lockToState,omitempty"`
}

// StaticKey is a passphrase.
type StaticKey struct {
	// The passphrase.
	Passphrase string `yaml:"passphrase" required:"true"`
}

// NodeIDKey is derived from the identity of the machine.
type NodeIDKey struct{}

// KMSKey is kept by a server.
type KMSKey struct {
	// The URL of the server.
	Endpoint value.URL `yaml:"endpoint" required:"true"`
}

// TPMKey is kept by the machine's security chip.
type TPMKey struct {
	// Whether the volume is encrypted only if the machine boots with Secure Boot.
	CheckSecurebootStatusOnEnroll *bool `yaml:"checkSecurebootStatusOnEnroll,omitempty"`
	// What the key is bound to.
	Options *TPMOptions `yaml:"options,omitempty"`
}

// TPMOptions are what a key that the machine's security chip keeps is bound to.
type TPMOptions struct {
	// The numbers of the registers (PCRs) that must have the same values when the key is read.
	PCRs []int `yaml:"pcrs,omitempty"`
}

// lastPCR is the highest register of a TPM (TCG PC Client Platform Profile).
const lastPCR = 23

func (e *Encryption) validate(r *document.Report) {
	if e == nil {
		return
	}

	slots := map[int]bool{}

	for i, key := range e.Keys {
		at := index("encryption.keys", i)

		if slots[key.Slot] {
			r.Wrong(at+".slot", "%d is the slot of another key too", key.Slot)
		}

		slots[key.Slot] = true

		kinds := 0

		for _, set := range []bool{key.Static != nil, key.NodeID != nil, key.KMS != nil, key.TPM != nil} {
			if set {
				kinds++
			}
		}

		if key.TPM != nil && key.TPM.Options != nil {
			for j, pcr := range key.TPM.Options.PCRs {
				if pcr < 0 || pcr > lastPCR {
					r.Wrong(index(at+".tpm.options.pcrs", j), "%d is not a register: want 0 to %d", pcr, lastPCR)
				}
			}
		}

		if kinds != 1 {
			r.Wrong(at, "want one of static, nodeID, kms and tpm, got %d", kinds)
		}
	}
}

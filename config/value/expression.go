// SPDX-License-Identifier: Apache-2.0

package value

// The types of expressions of the Common Expression Language, by what their variables describe. A variable of one is unknown in the others,
// so each has an example of its own.
type (
	// DiskExpression selects disks.
	DiskExpression string
	// VolumeExpression selects volumes.
	VolumeExpression string
	// LinkExpression selects links by their status.
	LinkExpression string
	// MemoryExpression judges the memory of the machine and its pressure.
	MemoryExpression string
	// PodExpression ranks pods by their cgroups. Its value is a number.
	PodExpression string
)

// Format implements Formatted.
func (DiskExpression) Format() Format { return expressionLike(`disk.transport == "nvme"`) }

// Format implements Formatted.
func (VolumeExpression) Format() Format { return expressionLike(`volume.partition_label == "archive"`) }

// Format implements Formatted.
func (LinkExpression) Format() Format {
	return expressionLike(`mac(link.permanent_addr) == "02:00:5e:10:00:01"`)
}

// Format implements Formatted.
func (MemoryExpression) Format() Format {
	return expressionLike(`memory_full_avg10 > 12.0 && time_since_trigger > duration("500ms")`)
}

// Format implements Formatted.
func (PodExpression) Format() Format {
	return expressionLike(`{Besteffort: 1.0, Burstable: 0.5, Guaranteed: 0.0, Podruntime: 0.0, System: 0.0}[class] * double(memory_current.orValue(0u))`)
}

func expressionLike(example string) Format {
	return Format{About: "a CEL expression", Example: example}
}

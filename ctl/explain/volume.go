// SPDX-License-Identifier: Apache-2.0

package explain

import "github.com/seed-59268b81/talos/resources/block"

// mounts are the volumes that a controller has asked for, and that are not mounted for it.
func (f *Facts) mounts(controller string) []Symptom {
	var out []Symptom

	for _, request := range all[block.VolumeMountRequestSpec](f, "") {
		if request.Owner != controller || f.resource(typeOf[block.VolumeMountStatusSpec](), "", request.ID) != nil {
			continue
		}

		out = append(out, instance[block.VolumeStatusSpec](block.NamespaceName, request.spec.VolumeID))
	}

	return out
}

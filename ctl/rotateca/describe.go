// SPDX-License-Identifier: Apache-2.0

package rotateca

// describe says what is replaced by what, and how far the nodes are.
func (r *run) describe(rotation *rotation, members []member) {
	verb := "is replaced by"
	if rotation.reverts {
		verb = "is given up again for"
	}

	r.say("%s: authority %s %s %s", rotation.kind, short(rotation.old), verb, short(rotation.new))

	if len(rotation.dropped) > 0 {
		r.say("  an earlier run was interrupted before a node issued with %s, whose key is not stored: it is replaced by the new one", fingerprints(rotation.dropped))
	}

	for _, m := range members {
		at, _ := rotation.level(m) // which plan has checked
		role := "worker"

		if m.controlPlane {
			role = "control plane"
		}

		r.say("  %s (%s) %s", m.name, role, at)
	}
}

// finish says what the user has to do.
func (r *run) finish() {
	for _, rotation := range r.rotations {
		switch rotation.kind {
		case machineAPI:
			r.say("machine API: the authority is %s. Talosconfigs of the former one do not work any more: use %s, or merge it with talosctl config merge",
				short(rotation.new), r.output)
		case kubernetes:
			r.say("Kubernetes: the authority is %s. Kubeconfigs of the former one do not work any more: fetch another with talosctl kubeconfig", short(rotation.new))
		}
	}
}

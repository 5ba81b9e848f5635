// SPDX-License-Identifier: Apache-2.0

// Package runtime has the documents about the kernel, and about what runs beside Kubernetes.
package runtime

import "github.com/seed-59268b81/talos/config/document"

// Kinds are the kinds of documents of this package.
func Kinds() []document.Kind {
	return []document.Kind{
		container, environment, etcFile, eventSink, extensionService, kernelModule, kmsgLog, oom, pciRebind, securityProfile, sideroLink,
		sysctl, sysfs, udevRules, unattendedInstall, watchdog,
	}
}

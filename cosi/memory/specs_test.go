// SPDX-License-Identifier: Apache-2.0

package memory_test

import "github.com/seed-59268b81/talos/cosi/resource"

type emptySpec struct{}

var emptyDefinition = &resource.Definition{Type: "Paths.test.cosi.dev", DefaultNamespace: "test"}

func (emptySpec) Definition() *resource.Definition { return emptyDefinition }

func pathPtr(id string) resource.Pointer { return resource.PointerOf[emptySpec]("", id) }

// SPDX-License-Identifier: Apache-2.0

package service

import "github.com/seed-59268b81/talos/cosi/resource"

// Register makes the domain's types known to this process.
func Register() error { return resource.Register[ServiceSpec]() }

// SPDX-License-Identifier: Apache-2.0

package time

import (
	"errors"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Register registers the types of the domain.
func Register() error {
	return errors.Join(
		resource.Register[AdjtimeStatusSpec](),
		resource.Register[NTPStatusSpec](),
		resource.Register[StatusSpec](),
	)
}

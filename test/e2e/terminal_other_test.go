// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package e2e

import (
	"errors"
	"fmt"
	"os"
)

func openTerminal(_, _ uint16) (person, program *os.File, err error) {
	return nil, nil, fmt.Errorf("make a terminal on this system: %w", errors.ErrUnsupported)
}
